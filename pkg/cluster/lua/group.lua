-- ARGV: 3 id, 4 record as it was read or '', 5 record to store or '' to remove. Replies {ok|conflict, epoch}.
local id = ARGV[3]
if ARGV[5] ~= '' and not decode(ARGV[5]) then return invalid('group') end
if (redis.call('HGET', groups, id) or '') ~= ARGV[4] then return { 'conflict', integer(number(epoch)) } end
if ARGV[4] == ARGV[5] then return { 'ok', integer(number(epoch)) } end

local e = rise(epoch)
if ARGV[5] == '' then
  redis.call('HDEL', groups, id)
  announce(e, 'group.removed', 'group:' .. id, '', '')
else
  redis.call('HSET', groups, id, ARGV[5])
  announce(e, 'group.changed', 'group:' .. id, '', '')
end
return { 'ok', e }
