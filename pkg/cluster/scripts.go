package cluster

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/common.lua
var commonLua string

//go:embed lua/register.lua
var registerLua string

//go:embed lua/pulse.lua
var pulseLua string

//go:embed lua/report.lua
var reportLua string

//go:embed lua/leave.lua
var leaveLua string

//go:embed lua/pause.lua
var pauseLua string

//go:embed lua/resume.lua
var resumeLua string

//go:embed lua/reassert.lua
var reassertLua string

//go:embed lua/group.lua
var groupLua string

//go:embed lua/lease.lua
var leaseLua string

//go:embed lua/prune.lua
var pruneLua string

//go:embed lua/stamp.lua
var stampLua string

//go:embed lua/tidy.lua
var tidyLua string

//go:embed lua/mend.lua
var mendLua string

//go:embed lua/forget.lua
var forgetLua string

// Each change of the registry is one script.
var (
	registerScript = redis.NewScript(commonLua + registerLua)
	pulseScript    = redis.NewScript(commonLua + pulseLua)
	reportScript   = redis.NewScript(commonLua + reportLua)
	leaveScript    = redis.NewScript(commonLua + leaveLua)
	pauseScript    = redis.NewScript(commonLua + pauseLua)
	resumeScript   = redis.NewScript(commonLua + resumeLua)
	reassertScript = redis.NewScript(commonLua + reassertLua)
	groupScript    = redis.NewScript(commonLua + groupLua)
	leaseScript    = redis.NewScript(commonLua + leaseLua)
	pruneScript    = redis.NewScript(commonLua + pruneLua)
	stampScript    = redis.NewScript(commonLua + stampLua)
	tidyScript     = redis.NewScript(commonLua + tidyLua)
	mendScript     = redis.NewScript(commonLua + mendLua)
	forgetScript   = redis.NewScript(commonLua + forgetLua)
)
