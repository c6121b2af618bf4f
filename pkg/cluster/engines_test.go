package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

const budget = 5 * time.Second

// prefix is that of the cluster that tests use.
const prefix = "{detour:test}"

// registryTests are run on every kind of registry that people run.
var registryTests = []struct {
	name string
	test func(t *testing.T, r *cluster.Registry, raw redis.UniversalClient)
}{
	{"A registered node is whole at once", testARegisteredNodeIsWholeAtOnce},
	{"The same descriptor keeps its generation", testTheSameDescriptorKeepsItsGeneration},
	{"An old generation is turned away", testAnOldGenerationIsTurnedAway},
	{"Pulses and figures never move the epoch", testPulsesAndFiguresNeverMoveTheEpoch},
	{"A report moves the epoch only when it differs", testAReportMovesTheEpochOnlyWhenItDiffers},
	{"An unknown node must register", testAnUnknownNodeMustRegister},
	{"Who left stays away", testWhoLeftStaysAway},
	{"A restart inherits nothing", testARestartInheritsNothing},
	{"The epoch never returns", testTheEpochNeverReturns},
	{"No node out of form is registered", testNoNodeOutOfFormIsRegistered},
	{"A key of another type refuses every change whole", testAKeyOfAnotherTypeRefusesEveryChangeWhole},
	{"A pause is stored as it was asked for", testAPauseIsStoredAsItWasAskedFor},
	{"Resume lifts one target only", testResumeLiftsOneTargetOnly},
	{"A pause that cannot be meant is refused", testAPauseThatCannotBeMeantIsRefused},
	{"A lost pause is reasserted unless resumed since", testALostPauseIsReassertedUnlessResumedSince},
	{"Every change is announced", testEveryChangeIsAnnounced},
	{"A group changes only where it is told to", testAGroupChangesOnlyWhereItIsToldTo},
	{"A group changed meanwhile is read again", testAGroupChangedMeanwhileIsReadAgain},
	{"A removed group leaves its nodes", testARemovedGroupLeavesItsNodes},
	{"Broken entries are skipped and counted", testBrokenEntriesAreSkippedAndCounted},
	{"A report of another life or none is not active", testAReportOfAnotherLifeOrNoneIsNotActive},
	{"Aged reads what ages", testAgedReadsWhatAges},
	{"Counts ride with the epoch", testCountsRideWithTheEpoch},
	{"One sweeper holds the lease", testOneSweeperHoldsTheLease},
	{"A silent node is pruned", testASilentNodeIsPruned},
	{"Who pulsed since is not pruned", testWhoPulsedSinceIsNotPruned},
	{"A late sweeper changes nothing", testALateSweeperChangesNothing},
	{"A stamp is a pulse", testAStampIsAPulse},
	{"Tidy ends what is over", testTidyEndsWhatIsOver},
	{"Notes that cannot be read are told", testNotesThatCannotBeReadAreTold},
	{"Only old tombstones are forgotten", testForgetTakesOldTombstonesOnly},
	{"Half a record is mended", testHalfARecordIsMended},
	{"A lost pulse makes a node register again", testALostPulseMakesANodeRegisterAgain},
	{"A pulse out of range is stamped and pruned like any", testAPulseOutOfRangeIsStampedAndPrunedLikeAny},
	{"A start after the clock stepped back is later", testAStartAfterTheClockSteppedBackIsLater},
	{"A life that left before the last stays away", testALifeThatLeftBeforeTheLastStaysAway},
	{"A number that JSON cannot hold is refused", testANumberThatJSONCannotHoldIsRefused},
	{"The events are capped", testTheEventsAreCapped},
	{"A batch is announced once", testABatchIsAnnouncedOnce},
	{"A resume is found behind any number of events", testAResumeIsFoundBehindAnyNumberOfEvents},
	{"Work changes only from what was read", testWorkChangesOnlyFromWhatWasRead},
	{"A late sweeper stores no work", testALateSweeperStoresNoWork},
	{"A note is an event and nothing else", testANoteIsAnEventAndNothingElse},
	{"A late sweeper notes nothing", testALateSweeperNotesNothing},
	{"A note hides no resume", testANoteHidesNoResume},
	{"Work never touches the sweep's notes", testWorkNeverTouchesTheSweepsNotes},
	{"A pause is swapped only for the one that was read", testAPauseIsSwappedOnlyForTheOneThatWasRead},
	{"A swap is announced", testASwapIsAnnounced},
	{"An unreadable pause is never swapped", testAnUnreadablePauseIsNeverSwapped},
	{"Places are limited, all in all and by source", testPlacesAreLimitedAllInAllAndBySource},
	{"A place ends by itself", testAPlaceEndsByItself},
	{"An event is remembered for a day", testAnEventIsRememberedForADay},
}

func TestRegistry(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) string{
		"redis":         func(t *testing.T) string { return redistest.Start(t).URL },
		"redis cluster": func(t *testing.T) string { return redistest.Start(t, redistest.WithCluster()).URL + "?cluster=true" },
		"embedded":      func(t *testing.T) string { return "redis://" + miniredis.RunT(t).Addr() },
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := cluster.Dial(start(t), budget)
			require.NoError(t, err)
			r, err := cluster.NewRegistry(raw, "test")
			require.NoError(t, err)
			t.Cleanup(func() { _ = r.Close() })
			for _, c := range registryTests {
				t.Run(c.name, func(t *testing.T) {
					require.NoError(t, raw.FlushDB(t.Context()).Err())
					c.test(t, r, raw)
				})
			}
		})
	}
}

func node(id string) cluster.Descriptor {
	return cluster.Descriptor{ID: id, Group: "blue", Endpoint: "https://" + id + ".example.com", Weight: cluster.DefaultWeight}
}

var active = cluster.Report{Status: cluster.Active}

func register(t *testing.T, r *cluster.Registry, d cluster.Descriptor) cluster.Descriptor {
	t.Helper()
	d, _, err := r.Register(t.Context(), d, active)
	require.NoError(t, err)
	return d
}

func snapshot(t *testing.T, r *cluster.Registry) *cluster.Snapshot {
	t.Helper()
	s, err := r.Snapshot(t.Context(), time.Now)
	require.NoError(t, err)
	return s
}

func epoch(t *testing.T, r *cluster.Registry) int64 {
	t.Helper()
	e, err := r.Epoch(t.Context(), cluster.Counts{})
	require.NoError(t, err)
	return e
}

// dump returns every key's whole content: what a refused change must not touch.
func dump(t *testing.T, raw redis.UniversalClient) map[string]any {
	t.Helper()
	all := make(map[string]any)
	for _, key := range []string{"nodes", "reports", "figures", "pauses", "groups", "left", "work"} {
		all[key] = raw.HGetAll(t.Context(), prefix+":"+key).Val()
	}
	all["pulses"] = raw.ZRangeWithScores(t.Context(), prefix+":pulses", 0, -1).Val()
	all["epoch"] = raw.Get(t.Context(), prefix+":epoch").Val()
	all["events"] = raw.XLen(t.Context(), prefix+":events").Val()
	return all
}

func shortContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), budget)
	t.Cleanup(cancel)
	return ctx
}
