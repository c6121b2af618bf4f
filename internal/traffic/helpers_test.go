package traffic

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

// groups are those that the requests of these tests are for.
var groups = []string{"blue", "green"}

// within returns a context that ends long before the test does.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// get returns the status of a GET on a connection of its own.
func get(t *testing.T, address string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t, patience), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, nil
}
