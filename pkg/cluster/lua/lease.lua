-- ARGV: 3 token, 4 time to live (ms), 0 to give the lease up. Replies {ok|held, fence}.
local holder = redis.call('GET', lease)
local mine = holder == ARGV[3]
local stands = holder and redis.call('PTTL', lease) >= 0 -- one without an end is nobody's
if stands and not mine then return { 'held', integer(number(fence)) } end
if ARGV[4] == '0' then
  redis.call('DEL', lease)
  return { 'ok', integer(number(fence)) }
end
redis.call('SET', lease, ARGV[3], 'PX', ARGV[4])
if mine then return { 'ok', integer(number(fence)) } end
return { 'ok', rise(fence) }
