-- ARGV: 3 target, 4 by, 5 reason. Replies {ok|none, epoch}: none if it was not paused.
if redis.call('HEXISTS', pauses, ARGV[3]) == 0 then return { 'none', integer(number(epoch)) } end

local e = rise(epoch)
redis.call('HDEL', pauses, ARGV[3])
announce(e, 'resumed', ARGV[3], ARGV[4], ARGV[5])
return { 'ok', e }
