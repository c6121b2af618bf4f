package traffic

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// maxBody is the largest body of a POST, in bytes: well below the 1 MB that ALB
// passes to a function.
const maxBody = 200_000

// request is one request and the SHA-256 of the body that answers it.
type request struct {
	method, path string
	body         []byte
	want         [sha256.Size]byte
}

// source makes requests, the same ones for each source of the same seed. It is
// not safe for concurrent use.
type source struct {
	groups []string
	random *rand.Rand
	noise  []byte // bodies are windows of it
	made   int
}

func newSource(seed uint64, groups []string) *source {
	s := &source{groups: groups, random: rand.New(rand.NewPCG(seed, seed)), noise: make([]byte, 2*maxBody)}
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(s.noise) // never fails
	return s
}

// next returns a GET or a POST for one of the groups. Small bodies are the most
// frequent ones, and the largest has maxBody bytes.
func (s *source) next() request {
	s.made++
	r := request{method: http.MethodGet, path: fmt.Sprintf("/%s/items/%d", s.groups[s.random.IntN(len(s.groups))], s.made)}
	if s.random.IntN(2) == 0 {
		r.want = sha256.Sum256(page(r.path))
		return r
	}
	size := int(math.Pow(s.random.Float64(), 4) * (maxBody + 1))
	from := s.random.IntN(len(s.noise) - size)
	r.method, r.body = http.MethodPost, s.noise[from:from+size]
	sum := sha256.Sum256(r.body)
	r.want = sha256.Sum256(receipt(sum[:], int64(size)))
	return r
}

// send sends r to base by client, which follows redirects, and checks the
// answer.
func (r *request) send(ctx context.Context, client *http.Client, base string) outcome {
	began := time.Now()
	sent := base + r.path
	o := outcome{method: r.method, url: sent}
	res, err := r.do(ctx, client, sent)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			o.url, err = at.URL, at.Err
		}
		o.err = err
	} else {
		o.url, o.status = res.Request.URL.String(), res.StatusCode
		o.mismatch, o.err = r.check(res)
		_ = res.Body.Close() // read to its end
	}
	o.redirected = o.url != sent
	o.took = time.Since(began)
	return o
}

func (r *request) do(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	// From a bytes.Reader net/http can send the body once more, to where a 307
	// leads.
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

// check reads the body. Only that of a 200 has to be the right one.
func (r *request) check(res *http.Response) (mismatch bool, err error) {
	hash := sha256.New()
	size, err := io.Copy(hash, res.Body)
	if err != nil {
		return false, fmt.Errorf("read answer: %w", err)
	}
	if got := hash.Sum(nil); res.StatusCode == http.StatusOK && !bytes.Equal(got, r.want[:]) {
		return true, fmt.Errorf("wrong body of %d bytes from %s: SHA-256 %x, not %x", size, res.Header.Get(nodeHeader), got, r.want)
	}
	return false, nil
}
