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

// caseAnnotation names a pod, whatever else of it is wrong.
const caseAnnotation = "case"

// pods prints the cases of the static pods in a folder that the kubelet takes, by the kubelet's own source of files.
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
			break // the first comes whole
		}
	}

	slices.Sort(names)

	for _, name := range names {
		fmt.Println(name)
	}
}

type noObserver struct{}

func (noObserver) ObservedPodOnWatch(*v1.Pod, time.Time) {}
