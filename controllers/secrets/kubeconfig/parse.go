// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"

	"go.yaml.in/yaml/v4"
)

// parsed is what of a kubeconfig is read: also references to files, as the kubelet writes them.
type parsed struct {
	Clusters []struct {
		Name    string `yaml:"name"`
		Cluster struct {
			Server        string `yaml:"server"`
			CA            string `yaml:"certificate-authority-data"`
			CAFile        string `yaml:"certificate-authority"`
			TLSServerName string `yaml:"tls-server-name"`
		} `yaml:"cluster"`
	} `yaml:"clusters"`
	Users []struct {
		Name string `yaml:"name"`
		User struct {
			Crt     string `yaml:"client-certificate-data"`
			CrtFile string `yaml:"client-certificate"`
			Key     string `yaml:"client-key-data"`
			KeyFile string `yaml:"client-key"`
			Token   string `yaml:"token"`
		} `yaml:"user"`
	} `yaml:"users"`
	Contexts []struct {
		Name    string         `yaml:"name"`
		Context contextOptions `yaml:"context"`
	} `yaml:"contexts"`
	CurrentContext string `yaml:"current-context"`
}

// Parse reads the current context of a kubeconfig. Certificates and keys that are named by file are read from there.
func Parse(text []byte) (Config, error) {
	var f parsed

	if err := yaml.Load(text, &f); err != nil {
		return Config{}, fmt.Errorf("kubeconfig: %w", err)
	}

	out := Config{Context: f.CurrentContext}

	for _, c := range f.Contexts {
		if c.Name == f.CurrentContext {
			out.Cluster, out.User, out.Namespace = c.Context.Cluster, c.Context.User, c.Context.Namespace
		}
	}

	var err error

	for _, c := range f.Clusters {
		if c.Name == out.Cluster {
			out.Server, out.TLSServerName = c.Cluster.Server, c.Cluster.TLSServerName

			if out.CA, err = inlineOrFile(c.Cluster.CA, c.Cluster.CAFile); err != nil {
				return Config{}, fmt.Errorf("kubeconfig: authority: %w", err)
			}
		}
	}

	for _, u := range f.Users {
		if u.Name == out.User {
			out.Token = u.User.Token

			if out.Crt, err = inlineOrFile(u.User.Crt, u.User.CrtFile); err != nil {
				return Config{}, fmt.Errorf("kubeconfig: client certificate: %w", err)
			}

			if out.Key, err = inlineOrFile(u.User.Key, u.User.KeyFile); err != nil {
				return Config{}, fmt.Errorf("kubeconfig: client key: %w", err)
			}
		}
	}

	if out.Server == "" {
		return Config{}, errors.New("kubeconfig: the current context names no cluster with a server")
	}

	return out, nil
}

func inlineOrFile(inline, file string) ([]byte, error) {
	if inline != "" || file == "" {
		return base64.StdEncoding.DecodeString(inline)
	}

	return os.ReadFile(file)
}
