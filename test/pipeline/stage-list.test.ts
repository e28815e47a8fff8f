/**
 * Tests the types of stage lists with the compiler: each case is a program and the errors that `tsc` reports.
 */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { plainNode } from '../support/plain-node.ts'

const root = join(import.meta.dirname, '../../..')
const tsc = join(root, 'node_modules/typescript/bin/tsc')

const head = `
import { chain } from '${root}/lib/pipeline/chain.ts'
import { map, type PassThroughStage, type Sink, type Stage } from '${root}/lib/pipeline/stage.ts'
import { pipeline, type Handler } from '${root}/pipelines/pipeline.ts'
import type { GenericStage, StageTypes } from '${root}/lib/pipeline/stage-list.ts'
import type { Reply } from '${root}/lib/core/reply.ts'

interface A { readonly a: string }
interface B extends A { readonly b: string }
interface C extends B { readonly c: string }
declare const ab: Stage<A, B>
declare const bc: Stage<B, C>
declare const keep: PassThroughStage<A>
declare const ofA: Sink<A, Reply>
declare const ofC: Sink<C, Reply>
`

/** Each program with the expected errors: the code of each, and the relevant part of its text. */
const cases: ReadonlyArray<{
  readonly title: string
  readonly program: string
  readonly says: readonly RegExp[]
}> = [
  {
    title: 'stages that fit make a handler of what the first takes, however many there are',
    program: `const handle: Handler<A> = pipeline(ab, ${'keep, '.repeat(40)}bc, ofC)`,
    says: []
  },
  {
    title: 'a stage in the wrong position is named with its index, what it is given and what it takes',
    program: 'pipeline(ab, keep, bc, map((value: { readonly z: number }) => value.z), keep, ofA)',
    says: [
      /TS2345: Argument of type 'Stage<.*z: number; }, number>' is not assignable to parameter of type 'StageDoesNotFit<3, C, { readonly z: number; }>'/
    ]
  },
  {
    title: 'so is the sink',
    program: 'pipeline(ab, keep, ofC)',
    says: [
      /TS2345: Argument of type 'Sink<C, Reply>' is not assignable to parameter of type 'StageDoesNotFit<2, B, C>'/
    ]
  },
  {
    title: 'what passes a value through keeps its type',
    program: 'pipeline(bc, keep, keep, ofC)\nconst chained: Stage<B, C> = chain(bc, keep)',
    says: []
  },
  {
    title: 'a chain gives what its last stage gives, and no more',
    program: 'const chained: Stage<A, C> = chain(ab, keep)',
    says: [/TS2322: Type 'Stage<A, B>' is not assignable to type 'Stage<A, C>'/]
  },
  {
    title: 'a chain names the stage that does not fit as well',
    program: 'chain(ab, chain(bc, keep), ab, map((value: number) => value))',
    says: [/TS2345: .* parameter of type 'StageDoesNotFit<3, B, number>'/]
  },
  {
    title: 'a generic stage says by its kind what it gives',
    program: `
interface Dated extends StageTypes { readonly out: this['in'] & { readonly at: Date } }
type DatedStage = GenericStage<<T extends object>(source: AsyncIterable<T>) => AsyncIterable<T & { readonly at: Date }>, Dated>
function dated (): DatedStage {
  return async function * (source) {
    for await (const value of source) yield { ...value, at: new Date() }
  }
}
declare const ofDatedC: Sink<C & { readonly at: Date }, Reply>
pipeline(bc, dated(), ofDatedC)
pipeline(ab, dated(), ofDatedC)`,
    says: [
      /TS2345: .* parameter of type 'StageDoesNotFit<2, B & { readonly at: Date; }, C & { readonly at: Date; }>'/
    ]
  },
  {
    title: 'a function without a type for its value is an error, and never `any`',
    program: 'pipeline(ab, map(value => value.b), ofA)',
    says: [/TS18046: 'value' is of type 'unknown'/]
  },
  {
    title: 'a list needs a sink at its end',
    program: 'pipeline(ab, keep)',
    says: [/TS2345: .*/]
  }
]

t.test('the compiler names the first stage that does not fit', async t => {
  const dir = t.testdir()
  for (const [index, { program }] of cases.entries()) {
    writeFileSync(join(dir, `case-${index}.ts`), head + program)
  }
  writeFileSync(
    join(dir, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: true,
        incremental: false,
        rootDir: root,
        rewriteRelativeImportExtensions: false,
        allowImportingTsExtensions: true
      },
      include: ['case-*.ts'],
      exclude: []
    })
  )
  const printed = await new Promise<string>(resolve => {
    const [command, args] = plainNode(tsc, '-p', dir, '--pretty', 'false')
    execFile(command, args, (_error, stdout) => resolve(stdout)) // tsc exits with 2 if there are errors
  })
  const errors = printed.split('\n').filter(line => /^\S.*error TS/.test(line))
  for (const [index, { title, says }] of cases.entries()) {
    const said = errors.filter(line => line.includes(`case-${index}.ts(`))
    t.equal(said.length, says.length, `${title}: ${said.join('\n')}`)
    for (const [at, text] of says.entries()) t.match(said[at], text, title)
  }
  t.equal(errors.length, cases.flatMap(({ says }) => says).length, 'and says nothing else')
})
