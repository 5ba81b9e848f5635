// SPDX-License-Identifier: Apache-2.0

// Package pages are the web pages of a discovery service: what it is and what it sees, what it holds of a cluster, and how many machines
// use it.
package pages

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/netip"

	"github.com/seed-59268b81/talos/discovery/registry"
	"github.com/seed-59268b81/talos/discovery/server"
)

// maxID is the length of the longest cluster id.
const maxID = 256

const style = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Discovery service</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; width: 100% } td, th { border-bottom: 1px solid #ccc; padding: .3em .5em; text-align: left; vertical-align: top }
code { font-size: 12px; overflow-wrap: anywhere }
</style>
`

var front = template.Must(template.New("front").Parse(style + `<h1>Discovery service</h1>
<p>Machines of a Kubernetes cluster find each other here. Each machine publishes what the others need to reach it, and reads what they have
published.</p>
<p>What machines publish is encrypted with a secret of their cluster, which this service never receives. It sees:</p>
<ul>
<li>the id of the cluster, and random ids of its machines;</li>
<li>the version of the client, and the address that a connection comes from;</li>
<li>how many machines a cluster has, and the size of what they publish.</li>
</ul>
<p>It forgets a machine half an hour after the machine was last heard of.</p>
<form action="inspect"><label>See what it holds of a cluster: <input name="clusterID" size="50" placeholder="cluster id"></label> <button>Show</button></form>
`))

var inspect = template.Must(template.New("inspect").Funcs(template.FuncMap{"hex": hexadecimal}).Parse(style + `<h1>Cluster {{.ID}}</h1>
<p>{{len .Members}} affiliates</p>
<table>
<tr><th>Affiliate</th><th>Data</th><th>Endpoints</th></tr>
{{range .Members}}<tr><td><code>{{.ID}}</code></td><td><code>{{hex .Data}}</code></td><td>{{range .Endpoints}}<code>{{hex .Data}}</code><br>{{end}}</td></tr>
{{end}}</table>
`))

// Handler serves the pages of a service.
func Handler(s *server.Server) http.Handler {
	mux, writing := http.NewServeMux(), make(chan struct{}, maxInspections)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { show(w, front, nil) })
	mux.HandleFunc("GET /inspect", func(w http.ResponseWriter, r *http.Request) { inspectCluster(w, r, s, writing) })
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) { stats(w, s) })
	mux.HandleFunc("GET /stats/", func(w http.ResponseWriter, _ *http.Request) { stats(w, s) })

	return mux
}

func show(w http.ResponseWriter, page *template.Template, data any) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("X-Content-Type-Options", "nosniff")

	page.Execute(w, data) // the browser has left
}

// hexadecimal is called while the page is written: a page of a large cluster has many megabytes.
func hexadecimal(data any) string { return fmt.Sprintf("%x", data) }

// maxInspections is how many pages about clusters are written at once.
const maxInspections = 8

func inspectCluster(w http.ResponseWriter, r *http.Request, s *server.Server, writing chan struct{}) {
	id := r.FormValue("clusterID")
	if id == "" || len(id) > maxID {
		http.Error(w, "clusterID: want an id of 1 to 256 bytes", http.StatusBadRequest)

		return
	}

	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		if err := s.Wait(r.Context(), peer.Addr()); err != nil {
			http.Error(w, "too many requests", http.StatusTooManyRequests)

			return
		}
	}

	select {
	case writing <- struct{}{}:
		defer func() { <-writing }()
	default:
		http.Error(w, "too many such requests at this time: try again", http.StatusServiceUnavailable)

		return
	}

	show(w, inspect, struct {
		ID      string
		Members []registry.Member
	}{id, s.Members(id)})
}

func stats(w http.ResponseWriter, s *server.Server) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*")

	json.NewEncoder(w).Encode(map[string]int64{"affiliates": s.Affiliates()}) // the browser has left
}
