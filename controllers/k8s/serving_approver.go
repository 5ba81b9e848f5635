// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/servingcert"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

const (
	signingRequestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	// eventAfter is the time after which an event says why a request is not approved. By then its Node should be known.
	eventAfter = 10 * time.Second
	// maxUndecided bounds the requests in memory, to less than 48 MiB: a kubelet can create any number.
	maxUndecided = 2048
)

// servingApprover approves valid requests of kubelets for serving certificates. It runs on each control plane node: the second approver finds
// a request approved.
type servingApprover struct {
	identity servingIdentity
	// access is how to connect to the API server.
	access kubeconfig.Config
	// unapproved are the requests that are not approved, by UID.
	unapproved map[string]unapproved
	wake       *time.Timer
}

type unapproved struct {
	since    time.Time
	reported string // the reason in the last event
}

func servingApproverController(root string) controller.Controller {
	a := &servingApprover{unapproved: map[string]unapproved{}}

	return following[k8s.KubeletServingRequestSpec](controller.Exclusive, follower{
		name: "k8s.KubeletServingApproverController",
		inputs: accessInputs(
			controller.In[secrets.KubernetesRootSpec](controller.Weak, "", secrets.KubernetesRootID),
			controller.In[secrets.CertSANSpec](controller.Weak, "", secrets.CertSANKubernetesID),
			controller.In[k8s.NodeIdentitySpec](controller.Weak, ""),
		),
		connect: func(ctx context.Context, rt controller.Runtime) (*target, error) { return a.connect(ctx, rt, root) },
		apply:   a.apply,
		again:   true,
	})
}

func (a *servingApprover) connect(ctx context.Context, rt controller.Runtime, root string) (*target, error) {
	var (
		machineType config.MachineTypeSpec
		authority   secrets.KubernetesRootSpec
	)

	ok, err := typed.All(typed.Read(ctx, rt, config.MachineTypeID, &machineType), typed.Read(ctx, rt, secrets.KubernetesRootID, &authority))
	if err != nil || !ok || !machineType.MachineType.IsControlPlane() {
		return nil, err
	}

	to, err := atAPIServer(ctx, rt, root, target{
		path: signingRequestsPath, selector: "spec.signerName=" + servingcert.Signer, keep: servingcert.Undecided, most: maxUndecided,
	})
	if err != nil || to == nil {
		return nil, err
	}

	pair, err := a.identity.get(authority, time.Now(), rt.QueueReconcile)
	if err != nil {
		return nil, err
	}

	// Only the endpoint is the administrator's.
	to.config.Crt, to.config.Key = pair.Crt, pair.Key
	to.key += string(pair.Crt)
	a.access = to.config

	return to, nil
}

// apply judges all undecided requests.
func (a *servingApprover) apply(ctx context.Context, rt controller.Runtime, objects []kube.Object) error {
	if a.wake != nil {
		a.wake.Stop()
	}

	if objects == nil {
		return nil
	}

	known, err := servingCluster(ctx, rt)
	if err != nil || known == nil {
		return err
	}

	client, err := kube.New(a.access)
	if err != nil {
		return err
	}
	defer client.Close()

	var (
		errs  []error
		later bool // an event is pending
	)

	remaining, now := map[string]unapproved{}, time.Now()

	for _, object := range objects {
		request, err := servingcert.RequestOf(object)
		if err != nil || request.Decided {
			continue // the API server refuses requests that cannot be decoded
		}

		refused := servingcert.Judge(request, *known)
		if refused == nil {
			errs = append(errs, approve(ctx, client, request))

			continue
		}

		reason := refused.Error()
		state, seen := a.unapproved[request.UID]

		if !seen {
			state.since = now
		}

		if state.reported != reason && now.Sub(state.since) >= eventAfter && createEvent(ctx, client, request, reason, now) == nil {
			state.reported = reason
		}

		later = later || state.reported != reason
		remaining[request.UID] = state
		errs = append(errs, typed.Set(ctx, rt, "", request.Name, k8s.KubeletServingRequestSpec{Requester: request.Username, Reason: reason}))
	}

	a.unapproved = remaining

	if later {
		a.wake = time.AfterFunc(eventAfter, rt.QueueReconcile)
	}

	return errors.Join(errs...)
}

// approve adds the condition to the request, unless another request has its name now, or it is decided already.
func approve(ctx context.Context, client *kube.Client, request servingcert.Request) error {
	path := signingRequestsPath + "/" + url.PathEscape(request.Name)

	object, err := client.Get(ctx, path)
	if kube.IsNotFound(err) {
		return nil
	}

	if err != nil {
		return err
	}

	now, err := servingcert.RequestOf(object)
	if err != nil || now.UID != request.UID || now.Decided {
		return err
	}

	status := kube.At[kube.Object](object, "status")
	if status == nil {
		status = kube.Object{}
		object["status"] = status
	}

	status["conditions"] = []any{kube.Object{
		"type": "Approved", "status": "True", "reason": "KubeletServingApproved",
		"message": "all names and addresses are those of Node " + request.Node() + " and of no other",
	}}

	_, err = client.Replace(ctx, path+"/approval", object)
	if kube.IsConflict(err) || kube.IsNotFound(err) {
		return nil
	}

	return err
}

// servingCluster returns what requests are checked against; nil until it is known.
func servingCluster(ctx context.Context, rt controller.Runtime) (*servingcert.Cluster, error) {
	var (
		authority secrets.KubernetesRootSpec
		sans      secrets.CertSANSpec
	)

	ok, err := typed.All(typed.Read(ctx, rt, secrets.KubernetesRootID, &authority), typed.Read(ctx, rt, secrets.CertSANKubernetesID, &sans))
	if err != nil || !ok {
		return nil, err
	}

	identities, err := typed.List[k8s.NodeIdentitySpec](ctx, rt, "")
	if err != nil {
		return nil, err
	}

	out := &servingcert.Cluster{
		Nodes: map[string]servingcert.Node{}, Names: sans.DNSNames, Addresses: sans.IPs, Domain: authority.DNSDomain,
	}

	for _, r := range identities {
		spec := r.TypedSpec()
		out.Nodes[r.Metadata().ID()] = servingcert.Node{Addresses: spec.Addresses, Names: spec.Names, ControlPlane: spec.ControlPlane}
	}

	return out, nil
}
