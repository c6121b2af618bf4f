-- ARGV: 3 id, 4 generation, 5 tombstone until (ms). Replies {ok|register|left|superseded, epoch}.
local id, mine = ARGV[3], ARGV[4]
local state = standing(id, mine)
if state ~= 'ok' then return { state, integer(number(epoch)) } end

local e = rise(epoch)
redis.call('HDEL', nodes, id)
redis.call('HDEL', reports, id)
redis.call('HDEL', figures, id)
redis.call('ZREM', pulses, id)
redis.call('HSET', left, id, mine .. ' ' .. ARGV[5])
announce(e, 'node.left', 'node:' .. id, id, '')
return { 'ok', e }
