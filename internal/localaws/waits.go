package localaws

import "sync"

// Answer is one answer that was given to a service, and taken.
type Answer struct {
	Of     string // what it is about: the instance, or the hook's execution
	Result string // in the service's own word
}

// waits are those who wait for an answer, one each.
type waits struct {
	mu      sync.Mutex
	waiting map[string]chan string // by what the answer is about
	answers []Answer               // that were taken, in order
}

// open has somebody wait for an answer about that.
func (w *waits) open(of string) <-chan string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = make(map[string]chan string)
	}
	w.waiting[of] = make(chan string, 1)
	return w.waiting[of]
}

// answer gives the answer; it is false if nobody waits for it, or not any more.
func (w *waits) answer(of, result string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiter, waiting := w.waiting[of]
	if !waiting {
		return false
	}
	waiter <- result
	delete(w.waiting, of)
	w.answers = append(w.answers, Answer{of, result})
	return true
}

func (w *waits) has(of string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting[of] != nil
}

// Answers returns what was answered so far, each once.
func (w *waits) Answers() []Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Answer(nil), w.answers...)
}
