package traffic

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
)

const (
	minPage = 1 << 10
	maxPage = 16 << 10
)

// page returns what a GET of path is answered with, by every node and version:
// 1 to 16 KiB that follow from path alone, so that a client knows them.
func page(path string) []byte {
	noise := rand.NewChaCha8(sha256.Sum256([]byte(path)))
	b := make([]byte, minPage+noise.Uint64()%(maxPage-minPage+1))
	_, _ = noise.Read(b) // never fails
	return b
}

// receipt returns what a POST is answered with: what arrived of its body.
func receipt(sum []byte, size int64) []byte {
	return fmt.Appendf(nil, `{"sha256":"%x","bytes":%d}`+"\n", sum, size)
}
