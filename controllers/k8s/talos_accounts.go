// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/talosaccess"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/resources/kubeaccess"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// How soon a request is looked at again: its Secret may be deleted, and one that is in the way may be gone soon.
const (
	talosAccountCheck = 5 * time.Minute
	talosAccountRetry = 30 * time.Second
	// talosAccountContest is how long the answer of another control plane stays that has other settings. Otherwise both would write again and
	// again.
	talosAccountContest = time.Minute
)

// maxTalosAccounts bounds the requests of pods in memory: a user of Kubernetes can create any number.
const maxTalosAccounts = 2048

// talosAccounts writes the credentials that pods request. It runs on each control plane: the second one finds them valid.
type talosAccounts struct {
	access kubeconfig.Config
	// last are the requests of the last run, of which the credentials are deleted when pods lose the access.
	last []kube.Object
	// answers are by namespace and name. They are answers to requests under these settings.
	answers  map[string]talosAnswer
	settings talosSettings
	wake     *time.Timer
}

// talosSettings is what an answer depends on besides the request.
type talosSettings struct {
	allowed   kubeaccess.ConfigSpec
	authority talosaccess.Authority
}

// talosAnswer is what was decided about a request, whose Failure is that of the answer. It is due for another look at a time.
type talosAnswer struct {
	request talosaccess.Request
	at, due time.Time
}

// holds returns until when an answer needs no other look, if the object is like this now.
func (a talosAnswer) holds(now talosaccess.Request) time.Time {
	answered := a.request
	answered.Failure = now.Failure

	switch {
	case !reflect.DeepEqual(answered, now):
		return time.Time{} // another request
	case a.request.Failure == now.Failure:
		return a.due
	default: // another control plane has answered too
		return a.at.Add(talosAccountContest)
	}
}

// talosAccountsController is a follower without outputs: what it writes is in Kubernetes.
func talosAccountsController(root string) controller.Controller {
	a := &talosAccounts{}

	return &follower{
		name: "kubeaccess.CRDController",
		inputs: accessInputs(
			controller.In[kubeaccess.ConfigSpec](controller.Weak, "", kubeaccess.ConfigID),
			controller.In[secrets.OSRootSpec](controller.Weak, "", secrets.OSRootID),
			controller.In[secrets.KubernetesRootSpec](controller.Weak, "", secrets.KubernetesRootID),
		),
		connect: func(ctx context.Context, rt controller.Runtime) (*target, error) { return a.connect(ctx, rt, root) },
		apply:   a.apply,
		again:   true,
	}
}

func (a *talosAccounts) connect(ctx context.Context, rt controller.Runtime, root string) (*target, error) {
	var allowed kubeaccess.ConfigSpec

	if f := typed.Read(ctx, rt, kubeaccess.ConfigID, &allowed); f.Err != nil || !f.OK || !allowed.Enabled {
		return nil, f.Err
	}

	to, err := atAPIServer(ctx, rt, root, target{path: talosaccess.Path, keep: talosaccess.Keep, most: maxTalosAccounts})
	if err != nil || to == nil {
		return nil, err
	}

	a.access = to.config

	return to, nil
}

// apply decides about all requests. Without objects the access has ended.
func (a *talosAccounts) apply(ctx context.Context, rt controller.Runtime, objects []kube.Object) error {
	if a.wake != nil {
		a.wake.Stop()
	}

	ended := objects == nil
	if ended {
		objects = a.last
	}

	if len(objects) == 0 {
		return nil
	}

	var (
		allowed   kubeaccess.ConfigSpec
		root      secrets.OSRootSpec
		authority secrets.KubernetesRootSpec
	)

	ok, err := typed.All(
		typed.Read(ctx, rt, kubeaccess.ConfigID, &allowed),
		typed.Read(ctx, rt, secrets.OSRootID, &root),
		typed.Read(ctx, rt, secrets.KubernetesRootID, &authority),
	)
	if err != nil || !ok && !ended {
		return err
	}

	if ended && allowed.Enabled {
		return nil // the API server cannot be asked now
	}

	client, err := kube.New(a.access)
	if err != nil {
		return err
	}
	defer client.Close()

	a.last = objects

	settings := talosSettings{allowed, talosaccess.Authority{Cluster: authority.Name, Root: root}}

	due, err := a.answer(time.Now(), settings, objects, func(request talosaccess.Request) (string, time.Time, error) {
		return answerTalosAccount(ctx, client, settings.authority, settings.allowed, request)
	})
	if err != nil {
		return err
	}

	if ended {
		a.last, a.answers = nil, nil
	} else {
		a.wake = time.AfterFunc(time.Until(due), rt.QueueReconcile)
	}

	return nil
}

// answer calls one for each request without an answer that holds, and returns when the next one is due.
func (a *talosAccounts) answer(
	now time.Time, settings talosSettings, objects []kube.Object, one func(talosaccess.Request) (failure string, due time.Time, err error),
) (time.Time, error) {
	if !reflect.DeepEqual(a.settings, settings) {
		a.settings, a.answers = settings, nil
	}

	answers := map[string]talosAnswer{}
	check := now.Add(talosAccountCheck)
	next := check

	var errs []error

	for _, object := range objects {
		request := talosaccess.RequestOf(object)
		id := request.Namespace + "/" + request.Name
		answer := a.answers[id]
		due := answer.holds(request)

		if !now.Before(due) {
			var err error

			if request.Failure, due, err = one(request); err != nil {
				errs = append(errs, err)

				continue
			}

			if due.IsZero() || check.Before(due) {
				due = check
			}

			answer = talosAnswer{request: request, at: now, due: due}
		}

		answers[id] = answer

		if due.Before(next) {
			next = due
		}
	}

	a.answers = answers

	return next, errors.Join(errs...)
}

// answerTalosAccount writes or deletes the credentials of a request, and its status. It returns why there are no credentials, and when to look
// at them again, if that is known.
func answerTalosAccount(
	ctx context.Context, client *kube.Client, signer talosaccess.Authority, allowed kubeaccess.ConfigSpec, request talosaccess.Request,
) (failure string, due time.Time, err error) {
	failure, due, err = decideTalosAccount(ctx, client, signer, allowed, request)

	// What is wrong with one request must not keep the others from being answered. A Secret that must go is not forgotten.
	if kube.IsRefused(err) && allowed.Enabled {
		failure, due, err = err.Error(), time.Now().Add(talosAccountRetry), nil
	}

	// Another control plane, or the end of the object, came first: the watch shows it.
	if err != nil && !kube.IsConflict(err) && !kube.IsNotFound(err) {
		return failure, due, err
	}

	if failure == request.Failure {
		return failure, due, nil
	}

	if err := client.Merge(ctx, request.StatusPath(), kube.Object{"status": kube.Object{"failureReason": failure}}); err != nil && !kube.IsNotFound(err) {
		if kube.IsRefused(err) && allowed.Enabled {
			return failure, due, nil // an answer that is not in the status does not hold for long
		}

		return failure, due, err
	}

	return failure, due, nil
}

// decideTalosAccount writes or deletes the credentials of a request.
func decideTalosAccount(
	ctx context.Context, client *kube.Client, signer talosaccess.Authority, allowed kubeaccess.ConfigSpec, request talosaccess.Request,
) (failure string, due time.Time, err error) {
	secret, err := client.Get(ctx, request.SecretPath())
	if err != nil && !kube.IsNotFound(err) {
		return "", due, err
	}

	there := err == nil
	failure = request.Refusal(allowed)

	switch {
	case failure == "" && there && !talosaccess.Owned(secret, request):
		failure = "there is a Secret of this name that does not belong to the object"
		due, err = time.Now().Add(talosAccountRetry), nil
	case failure == "":
		due, err = updateTalosSecret(ctx, client, signer, request, secret, there)
	case there && talosaccess.Owned(secret, request):
		err = client.Delete(ctx, request.SecretPath(), kube.At[string](secret, "metadata", "uid"))
	default:
		err = nil
	}

	return failure, due, err
}

// updateTalosSecret creates or replaces a Secret whose credentials do not fit, and returns when they are to be replaced.
func updateTalosSecret(
	ctx context.Context, client *kube.Client, signer talosaccess.Authority, request talosaccess.Request, live kube.Object, there bool,
) (time.Time, error) {
	now := time.Now()

	if there {
		if due, ok := signer.Valid(live, request, now); ok {
			return due, nil
		}
	}

	secret, due, err := signer.Secret(request, now)
	if err != nil {
		return due, err
	}

	if !there {
		_, err = client.Create(ctx, request.SecretsPath(), secret)

		return due, err
	}

	// Only the Secret that was read is replaced.
	metadata := kube.At[kube.Object](secret, "metadata")
	metadata["uid"] = kube.At[string](live, "metadata", "uid")
	metadata["resourceVersion"] = kube.At[string](live, "metadata", "resourceVersion")

	_, err = client.Replace(ctx, request.SecretPath(), secret)

	return due, err
}
