/**
 * Checks that work grows linearly with its input, not quadratically.
 *
 * One dimension of an input is doubled several times. Linear work doubles with it; work that more than
 * doubles twice in a row is not linear. A suspicious result from one run of each size is measured up to three
 * times more, each as the best of several runs. Only ratios of times are compared, so neither the speed of
 * the machine nor its load matters.
 */

import { Session, type HeapProfiler } from 'node:inspector'
import { Script } from 'node:vm'
import type { Test } from 'tap'
import { allRounds } from './rounds.ts'

export interface Scaling<In> {
  /** Makes an input of a size: `from`, `2 * from`, … */
  readonly input: (size: number) => In
  /** The work; it may throw what it throws for a valid input of any size. */
  readonly run: (input: In) => unknown
  /** The smallest size. Default 128. */
  readonly from?: number
  /** Default 3, with `HEADGATE_TEST_ROUNDS=all` 4. */
  readonly doublings?: number
  /** The time for which the runs of one size may hang before that is a finding. Default 10 s. */
  readonly patienceMs?: number
  /** Returns milliseconds. Default: the processor time of this process. */
  readonly clock?: () => number
}

export interface Growth {
  readonly sizes: readonly number[]
  /** Milliseconds of processor time of the fastest run of each size. */
  readonly times: readonly number[]
  /**
   * Bytes allocated by one run of each size, garbage included; none in a quick look, or only those of the
   * largest size.
   */
  readonly bytes: readonly number[]
  /** The size whose run did not end. */
  readonly endless?: number
}

/** A linear step is 2, one of `n log n` up to 2.3, a quadratic one 4: the geometric mean is 2.8. */
const maxRatio = 2.8
const logLinearRatio = 2.3
/** Runs of each size: few at first; a suspicious result is measured again. */
const quickRuns = 1
const carefulRuns = 5
const carefulLooks = 3
/** Slow work is less disturbed by others, and needs fewer runs. */
const slowMs = 50
/** Shorter work is repeated until it takes this long, and divided by the repetitions. */
const minSampleMs = 0.3
/** The profiler samples few allocations: a smaller amount is noise. */
const minBytes = 100_000

/** Fails if time or memory of `run` grows faster than its input, with a table of the measurements. */
export function scalesWith<In> (t: Test, dimension: string, scaling: Scaling<In>): void {
  let faults: string[] = []
  if (!looksLinear(growthOf(scaling, quickRuns))) {
    // Another process, or a recompilation between two sizes, may spoil one look; quadratic work shows in
    // each.
    for (let look = 0; look < carefulLooks; look++) {
      faults = faultsOf(growthOf(scaling))
      if (faults.length === 0) break
    }
  }
  t.same(faults, [], dimension)
}

/**
 * Judges a quick look, which with `HEADGATE_TEST_ROUNDS=all` has the bytes of the largest size, and if needed
 * those of the smallest.
 */
function looksLinear (growth: Growth): boolean {
  const { sizes, bytes } = growth
  const [largest = 0, smallest = 0] = bytes
  return faultsOf({ ...growth, bytes: [] }).length === 0 && largest <= mostBytes(sizes, smallest)
}

/** Bytes that the run of the largest size may allocate. */
function mostBytes (sizes: readonly number[], smallest: number): number {
  return logLinearRatio ** (sizes.length - 1) * Math.max(smallest, minBytes)
}

export function faultsOf ({ sizes, times, bytes, endless }: Growth): string[] {
  if (endless !== undefined) return [`no end for size ${endless}`]
  return [...tooSteep('ms', sizes, times, minSampleMs / 4), ...tooSteep('bytes', sizes, bytes, minBytes)]
}

function tooSteep (
  unit: string,
  sizes: readonly number[],
  values: readonly number[],
  floor: number
): string[] {
  if (!isSteep(values, floor)) return []
  return [sizes.map((size, index) => `${size}: ${values[index]?.toPrecision(3)} ${unit}`).join(', ')]
}

/** @param floor smaller values are noise */
function isSteep (values: readonly number[], floor: number): boolean {
  const steps = values.slice(1).map((value, index) => value > maxRatio * Math.max(values[index] ?? 0, floor))
  return steps.some((step, index) => step && steps[index + 1] === true)
}

/** Measures the work of each size. */
export function growthOf<In> (
  {
    input, run, from = 128, doublings = allRounds ? 4 : 3, patienceMs = 10_000, clock = processorMs
  }: Scaling<In>,
  runs = carefulRuns
): Growth {
  const sizes = Array.from({ length: doublings + 1 }, (_, index) => from * 2 ** index)
  const times: number[] = []
  const bytes: number[] = []
  const workOf = (size: number) => {
    const value = input(size)
    return (): void => {
      try {
        run(value)
      } catch (error) {
        if (!isRefusal(error)) throw error
      }
    }
  }
  for (const size of sizes) {
    const work = workOf(size)
    try {
      bounded(() => {
        times.push(fastest(work, runs, clock))
        // Each look at the heap ends with a full collection, which takes longer than most work.
        if (runs > quickRuns || (allRounds && size === sizes.at(-1))) bytes.push(allocated(work))
      }, patienceMs)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')) {
        throw error
      }
      return { sizes, times, bytes, endless: size }
    }
    // the next size would take the longest and show nothing new
    if (faultsOf({ sizes, times, bytes }).length > 0) break
  }
  if (runs === quickRuns && (bytes[0] ?? 0) > mostBytes(sizes, 0)) bytes.push(allocated(workOf(from)))
  return { sizes: sizes.slice(0, times.length), times, bytes }
}

/** An error that explains what is wrong with a request is a result too. */
function isRefusal (error: unknown): boolean {
  return error instanceof Error && 'status' in error
}

function processorMs (): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function fastest (work: () => void, runs: number, clock: () => number): number {
  work() // compiled, with every cache filled
  let best = Infinity
  for (let number = 0; number < (best < Infinity && best > slowMs ? Math.min(runs, 2) : runs); number++) {
    let times = 0
    const startMs = clock()
    let elapsed = 0
    do {
      work()
      times++
      elapsed = clock() - startMs
    } while (elapsed < minSampleMs)
    best = Math.min(best, elapsed / times)
  }
  return best
}

/** Bytes according to the heap profiler, which also counts garbage already collected. */
function allocated (work: () => void): number {
  const session = new Session()
  session.connect()
  let bytes = 0
  session.post('HeapProfiler.startSampling', {
    samplingInterval: 4096, includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true
  } as HeapProfiler.StartSamplingParameterType) // its type does not know the two options yet
  work()
  session.post('HeapProfiler.stopSampling', (error, { profile }) => {
    if (error === null) bytes = sizeOf(profile.head)
  })
  session.disconnect()
  return bytes
}

function sizeOf (node: HeapProfiler.SamplingHeapProfileNode): number {
  let bytes = node.selfSize
  for (const child of node.children) bytes += sizeOf(child)
  return bytes
}

/** Runs work that may never end: only a separate script can be interrupted. */
function bounded (work: () => void, patienceMs: number): void {
  const name = '__scaling'
  Reflect.set(globalThis, name, work)
  try {
    new Script(`${name}()`).runInThisContext({ timeout: patienceMs })
  } finally {
    Reflect.deleteProperty(globalThis, name)
  }
}
