// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeapi"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
)

const (
	// cordonTime is how long the Node may take to be unschedulable: what leaves it would come back.
	cordonTime = 15 * time.Second
	// evictInterval is how often it is looked at what has left.
	evictInterval = 500 * time.Millisecond
	// mirrorAnnotation is on what stands for a static pod.
	mirrorAnnotation = "kubernetes.io/config.mirror"
)

// podOnNode is what is looked at of a pod.
type podOnNode struct {
	Metadata struct {
		Namespace, Name, UID string
		Annotations          map[string]string
		OwnerReferences      []struct {
			Kind       string
			Controller bool
		}
	}
	Status struct{ Phase string }
}

// leaves says whether a pod finds its place elsewhere: somebody makes another one. Those of a DaemonSet and static ones belong
// to the node, and a pod without a controller is not created again after it is deleted; the kubelet ends these.
func (p podOnNode) leaves() bool {
	if _, static := p.Metadata.Annotations[mirrorAnnotation]; static || p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" {
		return false
	}

	for _, owner := range p.Metadata.OwnerReferences {
		if owner.Controller {
			return owner.Kind != "DaemonSet"
		}
	}

	return false
}

// Evict has the pods of this node leave that find a place elsewhere, and returns when they have, or the context ends. Services
// send nothing to them from then on, while they have their grace period: the kubelet alone would let them be asked until they
// have ended. A pod that a PodDisruptionBudget keeps stays. It is for a node that is being cordoned, since it goes down.
func Evict(ctx context.Context, r state.Reader, root string) error {
	var nodename k8s.NodenameSpec

	if f := typed.Read(ctx, r, k8s.NodenameID, &nodename); f.Err != nil || !f.OK || nodename.SkipNodeRegistration {
		return f.Err
	}

	access, _, err := nodeAccess(ctx, r, root)
	if err != nil || access == nil {
		return err
	}

	client, err := kubeapi.New(*access)
	if err != nil {
		return err
	}
	defer client.Close()

	if err := evict(ctx, client, nodename.Nodename); err != nil {
		return fmt.Errorf("evict the pods of node %s: %w", nodename.Nodename, err)
	}

	return nil
}

func evict(ctx context.Context, client *kubeapi.Client, node string) error {
	if err := untilCordoned(ctx, client, node); err != nil {
		return err
	}

	all, err := podsOf(ctx, client, node)
	if err != nil {
		return err
	}

	var asking guard.Group

	evicted := make(chan string, len(all))

	for _, p := range all {
		if !p.leaves() {
			continue
		}

		asking.Go(func() error {
			name, namespace := p.Metadata.Name, p.Metadata.Namespace

			_, err := client.Create(ctx, "/api/v1/namespaces/"+url.PathEscape(namespace)+"/pods/"+url.PathEscape(name)+"/eviction", kubeapi.Object{
				"apiVersion": "policy/v1", "kind": "Eviction", "metadata": kubeapi.Object{"name": name, "namespace": namespace},
			})
			if err == nil {
				evicted <- p.Metadata.UID
			} else if !kubeapi.IsNotFound(err) {
				return fmt.Errorf("pod %s/%s: %w", namespace, name, err)
			}

			return nil
		})
	}

	err = asking.Wait()

	close(evicted)

	gone := map[string]bool{}
	for uid := range evicted {
		gone[uid] = true
	}

	return errors.Join(err, untilGone(ctx, client, node, gone))
}

// untilCordoned waits until the Node is unschedulable; that is another controller's work.
func untilCordoned(ctx context.Context, client *kubeapi.Client, node string) error {
	ctx, cancel := context.WithTimeout(ctx, cordonTime)
	defer cancel()

	for {
		got, err := client.Get(ctx, "/api/v1/nodes/"+url.PathEscape(node))
		if err != nil {
			return err
		}

		if spec, ok := got["spec"].(kubeapi.Object); ok && spec["unschedulable"] == true {
			return nil
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until it is cordoned: %w", ctx.Err())
		case <-time.After(evictInterval / 2):
		}
	}
}

// untilGone waits until the pods of these ids have left.
func untilGone(ctx context.Context, client *kubeapi.Client, node string, ids map[string]bool) error {
	for len(ids) > 0 {
		all, err := podsOf(ctx, client, node)
		if err != nil {
			return err
		}

		var left []string

		for _, p := range all {
			if ids[p.Metadata.UID] {
				left = append(left, p.Metadata.Namespace+"/"+p.Metadata.Name)
			}
		}

		if len(left) == 0 {
			return nil
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", strings.Join(left, ", "), ctx.Err())
		case <-time.After(evictInterval):
		}
	}

	return nil
}

func podsOf(ctx context.Context, client *kubeapi.Client, node string) ([]podOnNode, error) {
	got, err := client.Get(ctx, "/api/v1/pods?fieldSelector="+url.QueryEscape("spec.nodeName="+node))
	if err != nil {
		return nil, err
	}

	raw, err := json.Marshal(got)
	if err != nil {
		return nil, err
	}

	var list struct{ Items []podOnNode }

	return list.Items, json.Unmarshal(raw, &list)
}
