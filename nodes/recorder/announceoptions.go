package main

// announceOptions say what is told to other nodes.
type announceOptions struct {
	Publish                bool    `param:"publish" short:"p" group:"Status" help:"publish the name of each file that is begun on begin_write"`
	StatsMaxPublishingRate float64 `param:"stats_max_publishing_rate" alias:"stats_max_publishing_rate" group:"Status" min:"0" max:"1000" help:"how often a second events/rosbag2_messages_lost may tell that messages were lost; 0 is never"`
}
