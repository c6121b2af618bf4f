package shop

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// SessionCookie names the cookie that holds a session's id, <random>.<route>.
const SessionCookie = "JSESSIONID"

// maxItem is the most bytes of an item.
const maxItem = 1 << 10

// app is the application in one life of a node. What it remembers goes with it.
type app struct {
	route string

	mu    sync.Mutex          // guards the following
	carts map[string][]string // by session
}

func newApp(route string) *app { return &app{route: route, carts: make(map[string][]string)} }

// handler answers with the session's cart as JSON, and 401 where there is no such
// session here.
func (a *app) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", a.login)
	mux.HandleFunc("POST /cart", a.add)
	mux.HandleFunc("GET /cart", a.view)
	mux.HandleFunc("POST /logout", a.logout)
	return mux
}

// sessions returns how many customers are logged in.
func (a *app) sessions() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(len(a.carts))
}

func (a *app) login(w http.ResponseWriter, _ *http.Request) {
	id := rand.Text() + "." + a.route
	a.mu.Lock()
	a.carts[id] = nil
	a.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: SessionCookie, Value: id, Path: "/", HttpOnly: true})
	answer(w, nil)
}

func (a *app) add(w http.ResponseWriter, r *http.Request) {
	item := r.PostFormValue("item")
	if item == "" || len(item) > maxItem {
		http.Error(w, "no item, or too long a one", http.StatusBadRequest)
		return
	}
	a.serve(w, r, func(id string) { a.carts[id] = append(a.carts[id], item) })
}

func (a *app) view(w http.ResponseWriter, r *http.Request) { a.serve(w, r, func(string) {}) }

func (a *app) logout(w http.ResponseWriter, r *http.Request) {
	a.serve(w, r, func(id string) { delete(a.carts, id) })
}

// serve has change see to the session of r, under the lock, and answers with what is
// in its cart after that.
func (a *app) serve(w http.ResponseWriter, r *http.Request, change func(id string)) {
	cookie, err := r.Cookie(SessionCookie)
	if err != nil {
		http.Error(w, "not logged in", http.StatusUnauthorized)
		return
	}
	a.mu.Lock()
	_, known := a.carts[cookie.Value]
	var cart []string
	if known {
		change(cookie.Value)
		cart = slices.Clone(a.carts[cookie.Value])
	}
	a.mu.Unlock()
	if !known {
		http.Error(w, "no such session", http.StatusUnauthorized)
		return
	}
	answer(w, cart)
}

func answer(w http.ResponseWriter, cart []string) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(append([]string{}, cart...)) // a client that went needs none
}
