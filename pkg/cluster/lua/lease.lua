-- ARGV: 3 token, 4 time to live (ms), 0 to give the lease up. Replies {ok|held, fence}.
local holder = redis.call('GET', lease)
if holder and holder ~= ARGV[3] then return { 'held', integer(number(fence)) } end
if ARGV[4] == '0' then
  redis.call('DEL', lease)
  return { 'ok', integer(number(fence)) }
end
redis.call('SET', lease, ARGV[3], 'PX', ARGV[4])
if holder then return { 'ok', integer(number(fence)) } end
return { 'ok', rise(fence) }
