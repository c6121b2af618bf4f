-- ARGV: 3 id, 4 generation, 5 report. Replies {ok|register|left|superseded, epoch}.
local id = ARGV[3]
local report = decode(ARGV[5])
if not report or report.generation ~= ARGV[4] then return invalid('report') end
local state = standing(id, ARGV[4])
if state ~= 'ok' or redis.call('HGET', reports, id) == ARGV[5] then return { state, integer(number(epoch)) } end

local e = rise(epoch)
redis.call('HSET', reports, id, ARGV[5])
announce(e, 'node.reported', 'node:' .. id, id, tostring(report.status or ''))
return { 'ok', e }
