// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// tokenService describes how a cloud issues the tokens for its metadata server.
type tokenService struct {
	path      string
	ttlHeader string // of the PUT request, in seconds
	maxTTL    int
	header    string // that has the token
	optional  bool   // requests without a token are answered too
}

// tokenLimit bounds the valid tokens.
const tokenLimit = 4096

// tokens are those that were issued.
type tokens struct {
	mu    sync.Mutex
	given map[string]token
}

type token struct {
	instance string
	until    time.Time
}

// serve issues a token, or refuses a request without a valid one. It returns false for a request that is not yet
// answered.
func (t *tokens) serve(w http.ResponseWriter, r *http.Request, service *tokenService, instance string) bool {
	if r.URL.Path == service.path {
		t.give(w, r, service, instance)

		return true
	}

	shown := r.Header.Get(service.header)
	if shown == "" && service.optional || t.valid(shown, instance) {
		return false
	}

	http.Error(w, "401 - Unauthorized", http.StatusUnauthorized)

	return true
}

func (t *tokens) give(w http.ResponseWriter, r *http.Request, service *tokenService, instance string) {
	if r.Method != http.MethodPut {
		http.Error(w, "405 - Method Not Allowed", http.StatusMethodNotAllowed)

		return
	}

	if r.Header.Get("X-Forwarded-For") != "" {
		http.Error(w, "403 - Forbidden", http.StatusForbidden) // the request is a proxy's, not the instance's

		return
	}

	ttl, err := strconv.Atoi(r.Header.Get(service.ttlHeader))
	if err != nil || ttl < 1 || ttl > service.maxTTL {
		http.Error(w, "400 - Bad Request", http.StatusBadRequest)

		return
	}

	text, now := rand.Text(), time.Now()

	t.mu.Lock()
	defer t.mu.Unlock()

	if t.given == nil {
		t.given = make(map[string]token)
	}

	for old, token := range t.given {
		if !now.Before(token.until) {
			delete(t.given, old)
		}
	}

	if len(t.given) >= tokenLimit {
		http.Error(w, "429 - Too Many Requests", http.StatusTooManyRequests)

		return
	}

	t.given[text] = token{instance, now.Add(time.Duration(ttl) * time.Second)}

	w.Header().Set(service.ttlHeader, strconv.Itoa(ttl))
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write([]byte(text)) // fails if the client has closed the connection
}

func (t *tokens) valid(text, instance string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()

	token, ok := t.given[text]

	return ok && token.instance == instance && time.Now().Before(token.until)
}
