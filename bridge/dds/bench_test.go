package dds

import (
	"testing"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
)

func BenchmarkReceive(b *testing.B) { bridgetest.Receive(b, receiver) }
func BenchmarkPublish(b *testing.B) { bridgetest.Publish(b, receiver) }
func TestAllocations(t *testing.T)  { bridgetest.Allocations(t, receiver(t)) }

func receiver(t testing.TB) bridge.Node { return newNode(t, "receiver") }
