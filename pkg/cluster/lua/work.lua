-- ARGV: 3 fence, '' for who does not sweep, 4 name, 5 work as it was read or '',
-- 6 work to store or '' to remove. Replies {ok|fenced|conflict, epoch}. The epoch
-- stays: no decision depends on work.
local name = ARGV[4]
if name == '' or name == 'sweep' then return invalid('name of work') end
if ARGV[6] ~= '' and not decode(ARGV[6]) then return invalid('work') end
if ARGV[3] ~= '' and fenced(ARGV[3]) then return { 'fenced', integer(number(epoch)) } end
if (redis.call('HGET', work, name) or '') ~= ARGV[5] then return { 'conflict', integer(number(epoch)) } end

if ARGV[6] == '' then
  redis.call('HDEL', work, name)
else
  redis.call('HSET', work, name, ARGV[6])
end
return { 'ok', integer(number(epoch)) }
