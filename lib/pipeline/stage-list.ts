/**
 * The types of consecutive stages: each must accept the output of the one before it. One recursive type
 * covers any number of stages, and the compiler names the first that does not fit.
 */

import type { Sink, Stage } from './stage.ts'

/** The compiler expects this in place of a stage that does not accept the output of the stage before it. */
export interface StageDoesNotFit<Index extends number, Given, Takes> {
  readonly 'This stage does not take what the stage before it gives.': {
    /** Index from 0. */
    readonly index: Index
    readonly given: Given
    readonly takes: Takes
  }
}

/**
 * Describes the output of a generic stage by its input: a conditional type sees only the constraint of a type
 * parameter.
 *
 * ```ts
 * interface Dated extends StageTypes { readonly out: this['in'] & { readonly at: Date } }
 * declare function dated (): GenericStage<
 *   <T extends object>(source: AsyncIterable<T>) => AsyncIterable<T & { readonly at: Date }>,
 *   Dated
 * >
 * ```
 *
 * A stage whose output has the type of its input (`PassThroughStage`) needs none.
 */
export interface StageTypes {
  readonly in: unknown
  readonly out: unknown
}

/** A generic stage with its types for the compiler. The field has no value. */
export type GenericStage<S, K extends StageTypes> = S & { readonly types?: K }

export type AnyStage = Stage<never, unknown>

/** Stages, optionally followed by a sink. */
export type ListWithSink<Out> = readonly [...AnyStage[], Sink<never, Out>]

/** The list, if its stages fit; otherwise the first that does not fit becomes a `StageDoesNotFit`. */
export type Connected<L extends readonly unknown[]> = L extends readonly [infer First, ...infer Rest]
  ? readonly [First, ...Following<Rest, BaseOf<First>, [1]>]
  : L

/** The input of the first stage. */
export type FirstIn<L extends readonly unknown[]> = L extends readonly [infer First, ...unknown[]]
  ? InOf<First>
  : never

/** The output of the last stage. */
export type LastOut<L extends readonly unknown[], In = FirstIn<L>> = L extends readonly [
  infer S,
  ...infer Rest
]
  ? LastOut<Rest, OutOf<S, In>>
  : In

type Following<L extends readonly unknown[], In, Before extends readonly unknown[]> = L extends readonly [
  infer S,
  ...infer Rest
]
  ? S extends (source: AsyncIterable<In>) => unknown
    ? readonly [S, ...Following<Rest, OutOf<S, In>, readonly [...Before, 1]>]
    : readonly [StageDoesNotFit<Before['length'], In, InOf<S>>, ...Rest]
  : readonly []

type InOf<S> = S extends (source: AsyncIterable<infer In>) => unknown ? In : never
type BaseOf<S> = S extends (source: never) => AsyncIterable<infer Out> ? Out : never

/** The output of a stage for `In`. A stage that can pass `In` through keeps its type. */
type OutOf<S, In> = S extends { readonly types?: infer K extends StageTypes }
  ? (K & { readonly in: In })['out']
  : S extends Stage<In> ? (In extends BaseOf<S> ? In : BaseOf<S>) : BaseOf<S>
