// Package sweep makes one pass over the registry: it ends pauses whose time is
// over, sets right pulses that lie in the future, asks silent nodes that have a
// probe, and prunes those that nobody hears any more.
//
// A pass can be made by anyone at any time, twice, or be cut off anywhere. The
// lease keeps a second sweeper away, the fence refuses one that wakes late, and
// each step is a script that checks again what it was decided on: a node that
// has pulsed or registered since it was read stays. The steps are in an order
// that, cut off, keeps nodes:
//
//  1. Stamps come first, for records without a pulse too. They only make nodes
//     younger. Parts of records that no node has go with them.
//  2. Notes are stored before anything is pruned. If the pass ends before them,
//     the next one looks back on a longer gap, which only ever withholds pruning.
//     If it ends after them, the next one counts this pass, and those who should
//     have been pruned are still silent then.
//  3. Pruning comes last; a part of it is as good as all of it.
//  4. Where the pass itself has moved the epoch, the notes are stored once more
//     with the new one. Without that, only a rollback of this pass's own changes
//     would go unnoticed, and they would be made again. Tombstones past their
//     time go last: nobody waits for that.
//
// Two kinds of doubt withhold pruning. While every node is silent the fault is
// likelier with the registry or the network than with all of them, so that
// thirty passes in a row have to find it so. And after a disturbance (every node
// silent, a lower epoch, a gap between passes, a clock that stepped back) a node
// is given the time in which it would be called stale to be heard again. A dump
// that is restored brings its old notes along and shows as a gap; if it is too
// young for one, no node that lived when it was made is silent for long enough
// to be pruned: its silence is at most the gap and the node's tolerance.
package sweep
