// Package entry ties the life of an application's process to that of its node: it
// starts the one, has the other registered, and ends both in the order that loses
// nobody. It is what a container or a unit starts instead of the application, also
// as process 1.
package entry
