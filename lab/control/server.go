// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/world"
)

// requestLimit bounds the length of a request.
const requestLimit = 64 << 10

type failure struct {
	Error string `json:"error"`
}

type power struct {
	Action Action `json:"action"`
}

type card struct {
	Unplugged bool `json:"unplugged"`
}

// Handler serves a lab.
func Handler(lab Lab) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, lab.Status()) })
	mux.HandleFunc("POST /nodes/{node}/power", func(w http.ResponseWriter, r *http.Request) {
		take(w, r, func(p power) error { return lab.Power(r.Context(), r.PathValue("node"), p.Action) })
	})
	mux.HandleFunc("PUT /nodes/{node}/cards/{card}", func(w http.ResponseWriter, r *http.Request) {
		take(w, r, func(c card) error {
			number, err := strconv.Atoi(r.PathValue("card"))
			if err != nil {
				return fmt.Errorf("card %q of %s: want its number, counted from 0", r.PathValue("card"), r.PathValue("node"))
			}

			return lab.SetCard(r.Context(), r.PathValue("node"), number, c.Unplugged)
		})
	})
	mux.HandleFunc("PUT /nodes/{node}/disk", func(w http.ResponseWriter, r *http.Request) {
		take(w, r, func(d machine.Disk) error { return lab.SetDisk(r.Context(), r.PathValue("node"), d) })
	})
	mux.HandleFunc("PUT /links/{name}", func(w http.ResponseWriter, r *http.Request) {
		take(w, r, func(l netswitch.Link) error { return lab.SetLink(r.PathValue("name"), l) })
	})
	mux.HandleFunc("PUT /paths", func(w http.ResponseWriter, r *http.Request) { take(w, r, lab.SetPath) })
	mux.HandleFunc("PUT /networks/{network}/services", func(w http.ResponseWriter, r *http.Request) {
		take(w, r, func(s world.Services) error { return lab.SetServices(r.PathValue("network"), s) })
	})
	mux.HandleFunc("PUT /routers/{router}/legs/{network}", func(w http.ResponseWriter, r *http.Request) {
		take(w, r, func(s world.Setting) error { return lab.SetLeg(r.PathValue("router"), r.PathValue("network"), s) })
	})
	mux.HandleFunc("GET /capture", func(w http.ResponseWriter, r *http.Request) { capture(lab, w, r) })
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, r *http.Request) {
		take(w, r, func(struct{}) error { return lab.Heal() })
	})
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, struct{}{})
		lab.Stop()
	})

	return mux
}

// take decodes a request, calls do with it, and answers.
func take[T any](w http.ResponseWriter, r *http.Request, do func(T) error) {
	var request T

	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, requestLimit))
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(&request); err != nil {
		reply(w, http.StatusBadRequest, failure{fmt.Sprintf("%s %s: %v", r.Method, r.URL.Path, err)})

		return
	}

	if err := do(request); err != nil {
		reply(w, http.StatusConflict, failure{err.Error()})

		return
	}

	reply(w, http.StatusOK, struct{}{})
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // fails only if the client has closed the connection
}
