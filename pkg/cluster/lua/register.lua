-- ARGV: 3 id, 4 generation, 5 descriptor, 6 report. Replies {ok|left|superseded, epoch}.
local id, mine = ARGV[3], ARGV[4]
local descriptor, report = decode(ARGV[5]), decode(ARGV[6])
if #id > 128 or not string.find(id, '^[%w._@-]+$') then return invalid('node id') end
if not string.find(mine, '^%d+%-%S*$') then return invalid('generation') end
if not descriptor or descriptor.id ~= id or descriptor.generation ~= mine then return invalid('descriptor') end
if type(descriptor.group) ~= 'string' or type(descriptor.endpoint) ~= 'string' then return invalid('descriptor') end
if not report or report.generation ~= mine then return invalid('report') end

local state = standing(id, mine)
if state == 'left' or state == 'superseded' then return { state, integer(number(epoch)) } end
if redis.call('HGET', nodes, id) == ARGV[5] and redis.call('HGET', reports, id) == ARGV[6] and pulse(id) > 0 then
  redis.call('ZADD', pulses, integer(now), id)
  return { 'ok', integer(number(epoch)) }
end

local e = rise(epoch)
if state == 'register' then redis.call('HDEL', figures, id) end
redis.call('HSET', nodes, id, ARGV[5])
redis.call('HSET', reports, id, ARGV[6])
redis.call('ZADD', pulses, integer(now), id)
announce(e, 'node.registered', 'node:' .. id, id, tostring(report.status or ''))
return { 'ok', e }
