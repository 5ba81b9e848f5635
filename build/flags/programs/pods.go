// SPDX-License-Identifier: Apache-2.0

//go:build ignore

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/types"
)

// caseAnnotation identifies a pod, even if its name is not valid.
const caseAnnotation = "case"

// pods prints the cases of the static pods in a folder that the kubelet accepts. It uses the kubelet's file source.
func pods(dir string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true}) // as the kubelet does

	taken := config.NewPodConfig(record.NewFakeRecorder(1000), noObserver{})
	config.NewSourceFile(klog.Background(), dir, "node", time.Hour, taken.Channel(ctx, types.FileSource))

	var names []string

	for update := range taken.Updates() {
		for _, pod := range update.Pods {
			names = append(names, pod.Annotations[caseAnnotation])
		}

		if len(names) > 0 {
			break // the first update has all pods
		}
	}

	slices.Sort(names)

	for _, name := range names {
		fmt.Println(name)
	}
}

type noObserver struct{}

func (noObserver) ObservedPodOnWatch(*v1.Pod, time.Time) {}
