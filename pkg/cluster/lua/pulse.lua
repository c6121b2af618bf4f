-- ARGV: 3 id, 4 generation, 5 figures or ''. Replies {ok|register|left|superseded, epoch}.
local id = ARGV[3]
if ARGV[5] ~= '' and not decode(ARGV[5]) then return invalid('figures') end
local state = standing(id, ARGV[4])
if state == 'ok' and pulse(id) == 0 then state = 'register' end -- half a record is none
if state == 'ok' then
  redis.call('ZADD', pulses, integer(now), id)
  if ARGV[5] ~= '' then redis.call('HSET', figures, id, ARGV[5]) end
end
return { state, integer(number(epoch)) }
