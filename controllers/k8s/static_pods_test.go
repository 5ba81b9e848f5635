// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// TestPodsInTurn checks that the controller manager starts while the API server creates its roles, and the scheduler after that.
func TestPodsInTurn(t *testing.T) {
	const down, creatingRoles, ready = 0, 1, 2

	var stage atomic.Int32

	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exclude := r.URL.Query()["exclude"]

		switch stage := stage.Load(); {
		case r.URL.Path == "/readyz" && stage == ready:
		case r.URL.Path == "/readyz" && stage == creatingRoles && len(exclude) == 1 && exclude[0] == "poststarthook/rbac/bootstrap-roles":
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()

	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	kubeconfig := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
`, server.URL, base64.StdEncoding.EncodeToString(authority))

	n := controllertest.Start(t, staticPodController(nil))

	controllertest.Set(n, k8s.FinalPrefix+k8s.APIServerID, k8s.APIServerConfigSpec{})
	controllertest.Set(n, k8s.FinalPrefix+k8s.ControllerManagerID, k8s.ControllerManagerConfigSpec{Enabled: true})
	controllertest.Set(n, k8s.FinalPrefix+k8s.SchedulerID, k8s.SchedulerConfigSpec{Enabled: true})
	controllertest.Set(n, k8s.StaticPodsID, k8s.ConfigStatusSpec{})
	controllertest.Set(n, k8s.StaticPodsID, k8s.SecretsStatusSpec{})
	controllertest.Set(n, secrets.KubernetesID, secrets.KubernetesCertsSpec{LocalhostAdminKubeconfig: kubeconfig})
	n.Service(etcdService, true)

	// A learner is healthy, too.
	controllertest.Set(n, etcd.MembershipID, etcd.MembershipStatusSpec{Intent: etcd.IntentJoin, Step: etcd.StepPromoting})

	has := func(id string) bool {
		pod, err := typed.Find[k8s.StaticPodSpec](t.Context(), n.State, "", id)
		if err != nil {
			t.Fatal(err)
		}

		return pod != nil
	}

	time.Sleep(2 * readyPoll)

	if has(k8s.APIServerID) {
		t.Error("the API server's pod exists while etcd is a learner")
	}

	controllertest.Set(n, etcd.MembershipID, etcd.MembershipStatusSpec{Intent: etcd.IntentNone, Step: etcd.StepMember})
	controllertest.Wait[k8s.StaticPodSpec](n, k8s.APIServerID, nil)
	time.Sleep(2 * readyPoll)

	if has(k8s.ControllerManagerID) || has(k8s.SchedulerID) {
		t.Error("pods that need the API server exist before it answers")
	}

	stage.Store(creatingRoles)
	controllertest.Wait[k8s.StaticPodSpec](n, k8s.ControllerManagerID, nil)
	time.Sleep(2 * readyPoll)

	if has(k8s.SchedulerID) {
		t.Error("the scheduler's pod exists before the API server has its roles")
	}

	stage.Store(ready)
	controllertest.Wait[k8s.StaticPodSpec](n, k8s.SchedulerID, nil)

	stage.Store(down)
	controllertest.Set(n, k8s.FinalPrefix+k8s.SchedulerID, k8s.SchedulerConfigSpec{Enabled: true, Image: "another"})
	controllertest.Wait(n, k8s.SchedulerID, func(s k8s.StaticPodSpec) bool { return strings.Contains(fmt.Sprint(s.Pod), "image:another") })

	// Pods outlive a restart of etcd, and end with the membership.
	n.Service(etcdService, false)
	controllertest.Set(n, etcd.MembershipID, etcd.MembershipStatusSpec{Intent: etcd.IntentNone, Step: etcd.StepMember, WaitsFor: "etcd to answer"})
	time.Sleep(2 * readyPoll)

	if !has(k8s.APIServerID) || !has(k8s.ControllerManagerID) || !has(k8s.SchedulerID) {
		t.Error("pods ended with a restart of etcd")
	}

	for _, gone := range []etcd.MembershipStatusSpec{
		{Intent: etcd.IntentLeave, Step: etcd.StepRemoving},
		{Intent: etcd.IntentJoin, Step: etcd.StepDiscarding},
		{Intent: etcd.IntentNone, Step: etcd.StepWaiting},
	} {
		n.Service(etcdService, true)
		controllertest.Set(n, etcd.MembershipID, etcd.MembershipStatusSpec{Intent: etcd.IntentNone, Step: etcd.StepMember})
		controllertest.Wait[k8s.StaticPodSpec](n, k8s.APIServerID, nil)
		controllertest.Set(n, etcd.MembershipID, gone)

		for deadline := time.Now().Add(10 * time.Second); has(k8s.APIServerID) || has(k8s.ControllerManagerID) || has(k8s.SchedulerID); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%+v: pods are still there", gone)
			}
		}
	}
}
