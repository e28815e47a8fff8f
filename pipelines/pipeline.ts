/** Stages in a row, from a call to its reply. */

import { rawPipe } from 'it-pipe'
import { EarlyReply } from '../lib/pipeline/early-reply.ts'
import { fuse, once, type Sink, type Stage } from '../lib/pipeline/stage.ts'
import type { Reply } from '../lib/core/reply.ts'

/** Answers one call. */
export type Handler<C> = (call: C) => Promise<Reply>

/**
 * Builds a pipeline, once: the list is all that happens to a call, in that order. Each stage must take
 * what the one before it gives. A call then only runs what was built.
 *
 * ```ts
 * const handle = pipeline(auth(services), map(answerOf), jsonReply())
 * ```
 *
 * @returns a function that rejects with whatever a stage throws, but for an `EarlyReply`, whose reply
 *   it resolves with
 */
export function pipeline<A> (sink: Sink<A, Reply>): Handler<A>
export function pipeline<A, B> (a: Stage<A, B>, sink: Sink<B, Reply>): Handler<A>
export function pipeline<A, B, C> (a: Stage<A, B>, b: Stage<B, C>, sink: Sink<C, Reply>): Handler<A>
export function pipeline<A, B, C, D> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, sink: Sink<D, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, sink: Sink<E, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, sink: Sink<F, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, sink: Sink<G, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  sink: Sink<H, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, sink: Sink<I, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I, J> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, i: Stage<I, J>, sink: Sink<J, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I, J, K> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, i: Stage<I, J>, j: Stage<J, K>, sink: Sink<K, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I, J, K, L> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, i: Stage<I, J>, j: Stage<J, K>, k: Stage<K, L>, sink: Sink<L, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I, J, K, L, M> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, i: Stage<I, J>, j: Stage<J, K>, k: Stage<K, L>, l: Stage<L, M>, sink: Sink<M, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I, J, K, L, M, N> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, i: Stage<I, J>, j: Stage<J, K>, k: Stage<K, L>, l: Stage<L, M>, m: Stage<M, N>, sink: Sink<N, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I, J, K, L, M, N, O> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, i: Stage<I, J>, j: Stage<J, K>, k: Stage<K, L>, l: Stage<L, M>, m: Stage<M, N>, n: Stage<N, O>,
  sink: Sink<O, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, i: Stage<I, J>, j: Stage<J, K>, k: Stage<K, L>, l: Stage<L, M>, m: Stage<M, N>, n: Stage<N, O>,
  o: Stage<O, P>, sink: Sink<P, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, i: Stage<I, J>, j: Stage<J, K>, k: Stage<K, L>, l: Stage<L, M>, m: Stage<M, N>, n: Stage<N, O>,
  o: Stage<O, P>, p: Stage<P, Q>, sink: Sink<Q, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, i: Stage<I, J>, j: Stage<J, K>, k: Stage<K, L>, l: Stage<L, M>, m: Stage<M, N>, n: Stage<N, O>,
  o: Stage<O, P>, p: Stage<P, Q>, q: Stage<Q, R>, sink: Sink<R, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, i: Stage<I, J>, j: Stage<J, K>, k: Stage<K, L>, l: Stage<L, M>, m: Stage<M, N>, n: Stage<N, O>,
  o: Stage<O, P>, p: Stage<P, Q>, q: Stage<Q, R>, r: Stage<R, S>, sink: Sink<S, Reply>
): Handler<A>
export function pipeline<A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T> (
  a: Stage<A, B>, b: Stage<B, C>, c: Stage<C, D>, d: Stage<D, E>, e: Stage<E, F>, f: Stage<F, G>, g: Stage<G, H>,
  h: Stage<H, I>, i: Stage<I, J>, j: Stage<J, K>, k: Stage<K, L>, l: Stage<L, M>, m: Stage<M, N>, n: Stage<N, O>,
  o: Stage<O, P>, p: Stage<P, Q>, q: Stage<Q, R>, r: Stage<R, S>,
  s: Stage<S, T>, sink: Sink<T, Reply>
): Handler<A>
export function pipeline (...list: readonly unknown[]): Handler<unknown> {
  // By the signatures above, which say more than one type for all of them could.
  const stages = fuse(list.slice(0, -1) as Array<Stage<never, unknown>>)
  const sink = list.at(-1) as Sink<unknown, Reply>
  return call => {
    try {
      // Not `pipe`, which also looks for duplex objects: these are all functions.
      return (rawPipe(() => once(call), ...stages, sink) as Promise<Reply>).catch(earlyReply)
    } catch (thrown) {
      return thrown instanceof EarlyReply ? Promise.resolve(thrown.reply) : Promise.reject(thrown)
    }
  }
}

function earlyReply (thrown: unknown): Reply {
  if (thrown instanceof EarlyReply) return thrown.reply
  throw thrown
}
