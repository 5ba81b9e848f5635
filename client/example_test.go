// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/config/talosconfig"
)

// The client of the current context of a talosconfig, and a call to one node.
func Example() {
	path, err := talosconfig.Path("")
	if err != nil {
		log.Fatal(err)
	}

	config, err := talosconfig.Load(path)
	if err != nil {
		log.Fatal(err)
	}

	current, err := config.Find("")
	if err != nil {
		log.Fatal(err)
	}

	c, err := client.Connect(current)
	if err != nil {
		log.Fatal(err)
	}

	defer c.Close()

	version, err := c.Version(client.WithNode(context.Background(), "172.20.0.3"))
	if err != nil {
		cause, try := client.Explain(err)
		log.Fatalf("%s\ntry: %s", cause, try)
	}

	fmt.Println(version.GetVersion().GetTag())
}

// Streams are iterators that end with their context.
func ExampleClient_Events() {
	c, err := client.New([]string{"172.20.0.2"}, client.WithInsecure())
	if err != nil {
		log.Fatal(err)
	}

	defer c.Close()

	for event, err := range c.Events(context.Background(), &machine.EventsRequest{TailEvents: 10}) {
		if err != nil {
			log.Fatal(err)
		}

		if m, ok := event.Payload.(*machine.ServiceStateEvent); ok {
			fmt.Println(m.GetService(), m.GetAction(), m.GetMessage())
		}
	}
}

// Resources are found by any of their names.
func ExampleClient_WatchResources() {
	c, err := client.New([]string{"172.20.0.2"}, client.WithInsecure())
	if err != nil {
		log.Fatal(err)
	}

	defer c.Close()

	definitions, err := c.Definitions(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	links, err := definitions.Find("links")
	if err != nil {
		log.Fatal(err)
	}

	kind := client.Kind{Namespace: links.DefaultNamespace, Type: links.Type}
	for event, err := range c.WatchResources(context.Background(), kind, "") {
		if err != nil {
			log.Fatal(err)
		}

		fmt.Println(event.GetEventType(), event.GetResource().GetMetadata().GetId())
	}
}

// A snapshot of etcd is a stream of bytes.
func ExampleClient_EtcdSnapshot() {
	c, err := client.New([]string{"172.20.0.2"}, client.WithInsecure())
	if err != nil {
		log.Fatal(err)
	}

	defer c.Close()

	stream := c.EtcdSnapshot(context.Background())
	defer stream.Close()

	file, err := os.Create("db.snapshot")
	if err != nil {
		log.Fatal(err)
	}

	if _, err := file.ReadFrom(stream); err != nil {
		log.Fatal(err)
	}

	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
}
