package place_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/place"
)

const (
	taskARN = "arn:aws:ecs:us-west-2:123456789012:task/default/158d1c8083dd49d6b527399fd6414f5c"
	id      = "i-1234567890abcdef0"
	nowhere = "http://127.0.0.1:1"
)

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(raw)
}

func TestFind(t *testing.T) {
	ec2 := newIMDS(t, id).URL
	awsvpc, bridge := read(t, "awsvpc.json"), read(t, "bridge.json")
	bare := `{"TaskARN":"` + taskARN + `","Containers":[{"Name":"web"}]}`
	for _, row := range []struct {
		name      string
		ecs, imds string
		want      place.Place
		complete  bool
	}{
		{"an EC2 instance is a target by its id", "", ec2, place.Place{Target: id}, true},
		{"a task with an address of its own by that", ecs(t, awsvpc), ec2, place.Place{Target: "10.0.2.61", Task: taskARN}, true},
		{"also where nobody answers for the instance", ecs(t, awsvpc), nowhere, place.Place{Target: "10.0.2.61", Task: taskARN}, true},
		{"a task on IPv6 alone by its address there", ecs(t, strings.ReplaceAll(awsvpc, `"IPv4Addresses": ["10.0.2.61"]`, `"IPv6Addresses": ["2001:db8::61"]`)), nowhere, place.Place{Target: "2001:db8::61", Task: taskARN}, true},
		{"a task on its instance's network by the instance", ecs(t, bridge), ec2, place.Place{Target: id, Task: taskARN}, true},
		{"which may be out of its reach", ecs(t, bridge), hanging(t), place.Place{Task: taskARN}, false},
		{"an ECS agent that is not ready is asked again", ecs(t, "", bare, awsvpc), nowhere, place.Place{Target: "10.0.2.61", Task: taskARN}, true},
		{"while a task's network is unknown, the instance is no substitute", ecs(t, bare), ec2, place.Place{Task: taskARN}, false},
		{"an ECS agent that fails leaves all open", ecs(t, ""), ec2, place.Place{}, false},
		{"so does one that talks nonsense", ecs(t, "<html>"), ec2, place.Place{}, false},
		{"and one that is out of reach", nowhere, ec2, place.Place{}, false},
		{"and a URI that is none", "http://[", ec2, place.Place{}, false},
		{"outside AWS there is nothing", "", nowhere, place.Place{}, false},
		{"or no answer", "", hanging(t), place.Place{}, false},
		{"a machine that answers anything to anybody is no EC2 instance", "", newIMDS(t, "<html>Sign in</html>").URL, place.Place{}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			got, err := place.Find(t.Context(), map[string]string{"ECS_CONTAINER_METADATA_URI_V4": row.ecs, "AWS_EC2_METADATA_SERVICE_ENDPOINT": row.imds})
			assert.Equal(t, row.want, got)
			assert.Equal(t, row.complete, err == nil, "%v", err)
			assert.Less(t, time.Since(began), 10*time.Second, "two, on a machine that is not busy")
		})
	}
}

func TestAnInstanceIsNotAskedWhereThatIsForbidden(t *testing.T) {
	s := newIMDS(t, id)
	environment := map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": s.URL, "AWS_EC2_METADATA_DISABLED": "True"}
	got, err := place.Find(t.Context(), environment)
	require.NoError(t, err)
	assert.Empty(t, got)
	assert.Zero(t, s.asked.Load())
}

func TestOnlyVersion2IsSpoken(t *testing.T) {
	s := newIMDS(t, id)
	_, err := place.Find(t.Context(), map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": s.URL})
	require.NoError(t, err)
	assert.EqualValues(t, 1, s.tokens.Load())
	assert.EqualValues(t, 2, s.asked.Load(), "one token, one question, no try without a token")
}

func TestAServiceThatKnowsNoTokensIsNotAsked(t *testing.T) {
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, id)
	}))
	t.Cleanup(old.Close)
	got, err := place.Find(t.Context(), map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": old.URL})
	require.Error(t, err)
	assert.Empty(t, got)
}
