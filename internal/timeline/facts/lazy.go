package facts

import (
	"sync"
	"sync/atomic"
)

// lazy is a fact: computed by whoever asks first, and kept. To ask again takes no lock.
type lazy[T any] struct {
	known atomic.Bool // value is set, and changes no more
	mu    sync.Mutex  // held while value is computed
	value T
}

// of is the answer of compute, which runs once. It gets f, so that the function need not hold it: one that
// holds nothing costs nothing to hand over.
func (l *lazy[T]) of(f *Facts, compute func(f *Facts) T) T {
	if !l.known.Load() {
		l.compute(f, compute)
	}
	return l.value
}

func (l *lazy[T]) compute(f *Facts, compute func(f *Facts) T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known.Load() {
		l.value = compute(f)
		l.known.Store(true)
	}
}

// keyed is a fact for each value of K.
type keyed[K comparable, T any] struct {
	mu    sync.Mutex // held while a fact is looked up, not while it is computed
	facts map[K]*lazy[T]
}

// of is the answer of compute for key, which runs once for each.
func (k *keyed[K, T]) of(f *Facts, key K, compute func(f *Facts) T) T {
	return k.at(key).of(f, compute)
}

// at is the fact of a key.
func (k *keyed[K, T]) at(key K) *lazy[T] {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.facts[key]
	if l == nil {
		if k.facts == nil {
			k.facts = make(map[K]*lazy[T])
		}
		l = new(lazy[T])
		k.facts[key] = l
	}
	return l
}
