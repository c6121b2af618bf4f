-- ARGV: 3 target, 4 pause without its epoch, 5 by, 6 reason. Replies {ok, epoch}.
if not decode(ARGV[4]) or string.sub(ARGV[4], -1) ~= '}' then return invalid('pause') end

local e = rise(epoch)
redis.call('HSET', pauses, ARGV[3], string.sub(ARGV[4], 1, -2) .. ',"epoch":' .. e .. '}')
announce(e, 'paused', ARGV[3], ARGV[5], ARGV[6])
return { 'ok', e }
