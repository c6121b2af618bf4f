-- ARGV: 3 target, 4 epoch of the pause that stands there, '0' for none, 5 pause
-- without its epoch or '' to lift the one that stands, 6 by, 7 reason.
-- Replies {ok|conflict, epoch}: conflict if another pause stands there, or none.
if ARGV[5] ~= '' and (not decode(ARGV[5]) or string.sub(ARGV[5], -1) ~= '}') then return invalid('pause') end
local stands = '0'
local json = redis.call('HGET', pauses, ARGV[3])
if json then
  local pause = decode(json)
  stands = integer(pause and tonumber(pause.epoch) or -1)
end
if stands ~= ARGV[4] then return { 'conflict', integer(number(epoch)) } end

local e = rise(epoch)
if ARGV[5] == '' then
  redis.call('HDEL', pauses, ARGV[3])
  announce(e, 'resumed', ARGV[3], ARGV[6], ARGV[7])
else
  redis.call('HSET', pauses, ARGV[3], string.sub(ARGV[5], 1, -2) .. ',"epoch":' .. e .. '}')
  announce(e, 'paused', ARGV[3], ARGV[6], ARGV[7])
end
return { 'ok', e }
