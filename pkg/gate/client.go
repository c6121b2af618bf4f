package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Table is what a gate tells its clients of the cluster.
type Table struct {
	Epoch int64       `json:"epoch"`
	Nodes []TableNode `json:"nodes"`
}

// TableNode is one node of a [Table], no more than clients may know of it.
type TableNode struct {
	ID       string   `json:"id"`
	Group    string   `json:"group"`
	Endpoint string   `json:"endpoint"`
	Contexts []string `json:"contexts"`
	Offered  bool     `json:"offered"` // in one of its contexts
}

// maxTable bounds what a client reads: 10,000 nodes take about 2 MB.
const maxTable = 64 << 20

// Client knows the cluster behind a gate, and asks again only when an answer of a
// node said that it has changed. It is safe for concurrent use.
type Client struct {
	url  string
	http *http.Client

	mu    sync.Mutex // guards the following
	table *Table     // the last one; nil before the first
	tag   string     // its ETag
}

// NewClient returns a client of the gate whose base URL is base, without '/' at the
// end. It sends by c; nil means [http.DefaultClient].
func NewClient(base string, c *http.Client) *Client {
	if c == nil {
		c = http.DefaultClient
	}
	return &Client{url: base + clusterPath, http: c}
}

// Changed reports whether the header of a node's answer tells of another epoch than
// the table's: then [Client.Table] is worth a call. One without an epoch tells nothing.
func (c *Client) Changed(header http.Header) bool {
	epoch := header.Get(epochKey)
	c.mu.Lock()
	defer c.mu.Unlock()
	return epoch != "" && c.tag != `W/"`+epoch+`"`
}

// Table returns the table, read anew if it has changed; the same pointer comes back
// if it has not. Nobody may change it. On error the last table comes back too, nil
// before the first.
func (c *Client) Table(ctx context.Context) (*Table, error) {
	c.mu.Lock()
	table, tag := c.table, c.tag
	c.mu.Unlock()
	fresh, newTag, err := c.ask(ctx, tag)
	if err != nil {
		return table, fmt.Errorf("ask %s: %w", c.url, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if fresh != nil {
		c.table, c.tag = fresh, newTag
	}
	return c.table, nil
}

// ask returns the table and its tag, nil if it is the one that tag names.
func (c *Client) ask(ctx context.Context, tag string) (*Table, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	if err != nil {
		return nil, "", err
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case tag != "" && resp.StatusCode == http.StatusNotModified:
		return nil, tag, nil
	case resp.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("answered %s", resp.Status)
	}
	var t Table
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxTable)).Decode(&t); err != nil {
		return nil, "", fmt.Errorf("read table: %w", err)
	}
	return &t, resp.Header.Get("ETag"), nil
}
