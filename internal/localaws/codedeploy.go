package localaws

import (
	"encoding/json"
	"sync/atomic"
)

// CodeDeploy is AWS CodeDeploy, as far as deployments wait at hooks. The zero value
// has none that waits.
type CodeDeploy struct {
	waits
	refused atomic.Int64
}

// Wait has a deployment wait for the status of a hook's execution: the channel gets
// it, Succeeded or Failed.
func (c *CodeDeploy) Wait(deployment, execution string) <-chan string {
	return c.open(deployment + "/" + execution)
}

// Refused counts statuses that nobody waited for, or not any more.
func (c *CodeDeploy) Refused() int { return int(c.refused.Load()) }

// put takes the body of a PutLifecycleEventHookExecutionStatus.
func (c *CodeDeploy) put(body []byte) (any, error) {
	var in struct{ DeploymentID, LifecycleEventHookExecutionID, Status string }
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, Error("SerializationException", err.Error())
	}
	if !c.answer(in.DeploymentID+"/"+in.LifecycleEventHookExecutionID, in.Status) {
		c.refused.Add(1)
		return nil, Error("LifecycleEventAlreadyCompletedException", "the hook's execution has its status already")
	}
	return map[string]string{"lifecycleEventHookExecutionId": in.LifecycleEventHookExecutionID}, nil
}
