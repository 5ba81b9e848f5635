// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestNodesReady(t *testing.T) {
	const list = `{"items": [
		{"metadata": {"name": "a"}, "status": {
			"addresses": [{"type": "InternalIP", "address": "10.5.0.2"}],
			"conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}]}},
		{"metadata": {"name": "b"}, "status": {
			"addresses": [{"type": "Hostname", "address": "10.5.0.9"}, {"type": "InternalIP", "address": "10.5.0.3"}],
			"conditions": [{"type": "Ready", "status": "False", "message": "no network"}]}},
		{"metadata": {"name": "c"}, "status": {"addresses": [{"type": "InternalIP", "address": "10.5.0.4"}]}},
		{"metadata": {"name": "d"}, "status": {
			"addresses": [{"type": "InternalIP", "address": "10.5.0.5"}],
			"conditions": [{"type": "Ready", "status": "Unknown", "message": "no network"}]}}
	]}`

	var nodes Nodes
	if err := json.Unmarshal([]byte(list), &nodes); err != nil {
		t.Fatal(err)
	}

	tests := []struct {
		wanted []string
		want   string
	}{
		{[]string{"10.5.0.2"}, "<nil>"},
		{[]string{"10.5.0.2", "10.5.0.3"}, "node b is not ready: no network"},
		{[]string{"10.5.0.4", "10.5.0.9"}, "node c is without the condition Ready; node 10.5.0.9 is not registered"},
		{
			[]string{"10.5.0.8", "10.5.0.3", "10.5.0.9", "10.5.0.5"},
			"nodes 10.5.0.8, 10.5.0.9 are not registered; nodes b, d are not ready: no network",
		},
	}

	for _, tt := range tests {
		if got := fmt.Sprint(nodes.Ready(tt.wanted)); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.wanted, got, tt.want)
		}
	}
}
