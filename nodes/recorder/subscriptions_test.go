package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// Publishers that come and go cost no subscription, as long as they offer the same.
func TestManyTopicsAreSubscribedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const topics = 500
		o := testOptions("mcap")
		o.Regex = "^/n"
		d := newDeck(t, o)
		advertise := func(i int) bridge.Publisher {
			p, err := d.source.Advertise(fmt.Sprintf("/n%03d", i), "std_msgs/msg/UInt32", codec.DefaultQoS())
			require.NoError(t, err)
			return p
		}
		subscribers := func() map[bridge.GUID]string {
			all := map[bridge.GUID]string{}
			for _, topic := range d.source.Topics() {
				for _, s := range topic.Subscribers {
					if s.Node == "/recorder" && topic.Name[:2] == "/n" {
						all[s.GUID] = topic.Name
					}
				}
			}
			return all
		}
		var first []bridge.Publisher
		for i := range topics {
			first = append(first, advertise(i))
		}
		require.Eventually(t, func() bool { return len(d.recorded()) == topics }, patient, time.Millisecond)
		before := subscribers()
		require.Len(t, before, topics)
		for i, p := range first {
			advertise(i)
			require.NoError(t, p.Close())
		}
		last := advertise(topics) // which is subscribed to when all of that is known
		require.Eventually(t, func() bool { return last.Subscribers() == 1 }, patient, time.Millisecond)
		after := subscribers()
		require.Len(t, after, topics+1)
		for guid, topic := range before {
			require.Equal(t, topic, after[guid])
		}
		for _, rec := range d.recorded() {
			require.Len(t, rec.current(), 1)
		}
	})
}

// A topic that was named and silent is told of, like one that nobody published.
func TestUnheardTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeck(t, testOptions(storageMCAP), "/loud", "/silent", "/typo")
		d.advertise("/silent", codec.DefaultQoS())
		d.publish(d.advertise("/loud", codec.DefaultQoS()), 1)
		require.Equal(t, []string{"/silent: no message came", "/typo: nobody published it"}, d.unheard())
	})
}
