/**
 * Micro benchmarks: `npm run bench -- [--quick] [--rounds 3] [--only 'sse read']`.
 *
 * Every file is measured in a fresh process per round, in alternating order; best and median are printed in
 * microseconds.
 */

import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { measure, type Measured, type Scenario } from './support/scenario.ts'
import { median } from './support/statistics.ts'

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    only: { type: 'string', default: '' },
    file: { type: 'string' }
  }
})

if (flags.file === undefined) report()
else await measureFile(flags.file)

function report (): void {
  const rounds = Math.min(Number(flags.rounds ?? (flags.quick ? 1 : 3)), 20)
  const files = readdirSync(new URL('.', import.meta.url)).filter(name => name.endsWith('.bench.js'))
  const found = new Map<string, Measured[]>()
  for (let round = 0; round < rounds; round++) {
    for (const file of round % 2 === 0 ? files : files.toReversed()) {
      for (const measured of inFreshProcess(file)) {
        found.set(measured.name, [...found.get(measured.name) ?? [], measured])
      }
    }
  }
  console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, ${rounds} rounds\n`)
  console.log('| | µs per | best | median |\n| --- | --- | ---: | ---: |')
  for (const [name, all] of [...found].toSorted(([a], [b]) => a.localeCompare(b))) {
    const us = all.map(measured => measured.us)
    console.log(`| ${name} | ${all[0]?.per} | ${Math.min(...us).toFixed(2)} | ${median(us).toFixed(2)} |`)
  }
}

function inFreshProcess (file: string): Measured[] {
  const args = [
    fileURLToPath(import.meta.url),
    '--file',
    file,
    '--only',
    flags.only,
    ...(flags.quick ? ['--quick'] : [])
  ]
  const { stdout, status } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit']
  })
  if (status !== 0) throw new Error(`${file} failed`)
  return JSON.parse(stdout) as Measured[] // written below
}

async function measureFile (file: string): Promise<void> {
  // A bench file exports its scenarios.
  const { scenarios } = (await import(new URL(file, import.meta.url).href)) as {
    scenarios: readonly Scenario[]
  }
  const measured: Measured[] = []
  for (const scenario of scenarios.filter(({ name }) => name.includes(flags.only))) {
    measured.push(await measure(scenario, flags.quick ? 20 : 100))
  }
  console.log(JSON.stringify(measured))
}
