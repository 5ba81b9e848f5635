// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"path"
	"strings"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
	"github.com/seed-59268b81/talos/layout"
)

// EnvironmentConfig has environment variables for process 1 (which pulls the images of its services, and downloads manifests), for containerd
// and for the kubelet, such as those of proxies.
type EnvironmentConfig struct {
	document.Header `yaml:",inline"`
	// The variables, by their names.
	Variables map[string]string `yaml:"variables" required:"true" maps:"machine.env"`
}

var environment = document.Of[EnvironmentConfig]("EnvironmentConfig", `apiVersion: v1alpha1
kind: EnvironmentConfig
variables:
    https_proxy: http://proxy.example.com:3128
    no_proxy: 198.51.100.0/24,.example.com
`)

// Validate implements document.Validator.
func (c *EnvironmentConfig) Validate(r *document.Report) {
	for name := range c.Variables {
		if name == "" || strings.ContainsAny(name, "= \t\n\x00") {
			r.Wrong("variables", "%q is not the name of an environment variable", name)
		}
	}
}

// EtcFileConfig has a file in /etc. Its name is the path below /etc. Files that Talos writes itself cannot be replaced.
type EtcFileConfig struct {
	document.Named `yaml:",inline"`
	// The permissions, in octal; 0644 without them.
	Mode v1alpha1.FileMode `yaml:"mode,omitempty"`
	// The text of the file.
	Contents string `yaml:"contents"`
}

var etcFile = document.Of[EtcFileConfig]("EtcFileConfig", `apiVersion: v1alpha1
kind: EtcFileConfig
name: nfsmount.conf
mode: 0644
contents: |
    [ NFSMount_Global_Options ]
    nfsvers=4
`)

// Validate implements document.Validator.
func (c *EtcFileConfig) Validate(r *document.Report) {
	if p := c.DocName; p != path.Clean(p) || path.IsAbs(p) || p == "." || strings.HasPrefix(p, "../") || p == ".." {
		r.Wrong("name", "%q is not a path below /etc, such as nfsmount.conf", p)
	}

	for _, managed := range layout.ManagedEtc {
		if c.DocName == managed || strings.HasPrefix(c.DocName, managed+"/") {
			r.Wrong("name", "/etc/%s is written by the system: a document cannot replace it", c.DocName)
		}
	}
}

// EventSinkConfig has the machine send its events to a server.
type EventSinkConfig struct {
	document.Header `yaml:",inline"`
	// The host and port of the server.
	Endpoint value.Endpoint `yaml:"endpoint" required:"true"`
}

var eventSink = document.Of[EventSinkConfig]("EventSinkConfig", `apiVersion: v1alpha1
kind: EventSinkConfig
endpoint: 192.0.2.3:2810
`)

// KmsgLogConfig has the kernel's log sent to a server. There may be several.
type KmsgLogConfig struct {
	document.Named `yaml:",inline"`
	// The URL: tcp://HOST:PORT or udp://HOST:PORT.
	URL value.URL `yaml:"url" required:"true"`
}

var kmsgLog = document.Of[KmsgLogConfig]("KmsgLogConfig", `apiVersion: v1alpha1
kind: KmsgLogConfig
name: remote-log
url: tcp://192.0.2.3:3478/
`)

// Validate implements document.Validator.
func (c *KmsgLogConfig) Validate(r *document.Report) {
	if s := c.URL.Scheme; s != "" && s != "tcp" && s != "udp" {
		r.Wrong("url", "has the scheme %s: want tcp or udp", s)
	}

	if c.URL.Host != "" && c.URL.Port() == "" {
		r.Wrong("url", "has no port")
	}
}
