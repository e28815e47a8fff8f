/** `headgate usage`: sums the usage rows. */

import { parseArgs } from 'node:util'
import { loadSettings } from '../config/read-settings.ts'
import { nearestWord } from '../text/nearest-word.ts'
import { openDatabase } from '../stores/open-database.ts'
import { defaultTop, groupings, usageTotals, type Grouping, type Sums, type Total } from '../usage/totals.ts'
import { CommandError } from '../process/terminal.ts'
import type { Command } from './command.ts'
import { momentOf } from './parse-date.ts'
import { percent, table } from './table.ts'
import { usageExport } from './usage-export.ts'

/** Maximum names: a query lists each of them. */
const maxTop = 10_000

const options = {
  config: { type: 'string', short: 'c' },
  since: { type: 'string', default: '30d' },
  by: { type: 'string', default: 'key' },
  top: { type: 'string', default: String(defaultTop) },
  json: { type: 'boolean', default: false }
} as const

export const usage: Command = {
  usage: `Usage: headgate usage [--since WHEN] [--by GROUPING] [--top N] [--json]
       headgate usage export [--format csv|jsonl] [--since WHEN] [--until WHEN]
       headgate usage export --now

Reports calls and their cost, even while a gateway runs. Each call is priced at the prices of its time. Calls
of models without a price are counted as UNPRICED, at no cost. ~ marks a cost that is partly estimated.
CANCELLED calls ended because the client disconnected. CACHED is the share of the PROMPT tokens that
providers read from their caches. export prints one record per call, ordered by the time at which the call
was accepted, as JSON Lines or CSV. export --now writes the files of usage.exports
that are due, rather than waiting for a gateway.

  --since WHEN    a date (2025-11-01), a time (2025-11-01T18:00:00Z) or a duration (7d, 12h);
                  default: 30d
  --until WHEN    the same, exclusive; default: now
  --by GROUPING   ${groupings.join(', ')}, or several with commas (day,model); default: key
  --top N         how many end users, sessions or tags to list, highest cost first; the others are added
                  up as (other), and so are calls without one if they cost less; with two of these
                  groupings, N counts the one listed first of end_user, session, tag; default: ${defaultTop}
  -c, --config FILE
  --json          exact numbers; cost_nano_usd is in billionths of a dollar`,

  run: async (args, terminal) => {
    if (args[0] === 'export') return await usageExport(args.slice(1), terminal)
    const { values: { config, since, by, top, json } } = parseArgs({ args: [...args], options })
    const sinceMs = momentOf('--since', since)
    const groups = by.split(',').map(groupingOf)
    const database = await openDatabase(loadSettings({ ...terminal, file: config }))
    try {
      const { totals, cutBeforeMs } = await usageTotals(database.query, sinceMs, groups, numberOf(top))
      const { out } = terminal
      if (json) out(JSON.stringify(totals.map(({ group, sums }) => ({ ...group, ...sums })), null, 2))
      else if (totals.length === 0) out('No usage recorded.')
      else out(asTable(totals, groups))
      if (cutBeforeMs !== undefined) {
        terminal.notice(
          `Calls before ${new Date(cutBeforeMs).toISOString()} are left out: these groupings read the records of at most 31 days, and of 2 million calls.`
        )
      }
    } finally {
      await database.close()
    }
    return 0
  }
}

/** @throws CommandError for anything but a whole number from 1 to 10000 */
function numberOf (text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && number >= 1 && number <= maxTop) return number
  throw new CommandError(`--top must be a whole number from 1 to ${maxTop}, not "${text}"`, { exitCode: 2 })
}

/** @throws CommandError for an unknown grouping */
function groupingOf (text: string): Grouping {
  const found = groupings.find(grouping => grouping === text.trim())
  if (found !== undefined) return found
  const meant = nearestWord(text, groupings)
  const hint = meant === undefined ? `groupings are ${groupings.join(', ')}` : `did you mean "${meant}"?`
  throw new CommandError(`unknown grouping "${text}"; ${hint}`, { exitCode: 2 })
}

const headings = ['CALLS', 'FAILED', 'CANCELLED', 'PROMPT', 'CACHED', 'COMPLETION', 'COST', 'UNPRICED']

function asTable (totals: readonly Total[], groups: readonly Grouping[]): string {
  const rows = totals.map(({ group, sums }) => [
    ...groups.map(name => group[name] ?? '-'),
    ...numbersOf(sums)
  ])
  return table([[...groups.map(name => name.toUpperCase()), ...headings], ...rows])
}

function numbersOf (sums: Sums): string[] {
  const {
    calls,
    failed,
    cancelled,
    prompt_tokens: prompt,
    cached_tokens: cached,
    completion_tokens: completion,
    cost_nano_usd: cost,
    unpriced,
    estimated
  } = sums
  return [
    calls,
    failed,
    cancelled,
    prompt,
    percent(cached, prompt),
    completion,
    `${estimated > 0 ? '~' : ''}$${(cost / 1e9).toFixed(4)}`,
    unpriced
  ].map(String)
}
