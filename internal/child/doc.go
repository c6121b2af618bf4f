// Package child starts processes that cannot outlive the one that started
// them, and stops, continues and kills them with all that they started.
package child
