/** The files written by `usage.exports`: written, failed and upcoming ones. */

import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Clip } from '../parts/clip.tsx'
import { Code } from '../parts/code.tsx'
import { Empty } from '../parts/empty.tsx'
import { Moment } from '../parts/moment.tsx'
import { More } from '../parts/more.tsx'
import { Failure } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { toast } from '../parts/toast.tsx'
import { count, plural, size } from '../format/numbers.ts'
import { dateTime, range } from '../format/time.ts'
import { useAction } from '../state/action.ts'
import { usePages } from '../state/pages.ts'

type UsageExport = Answer<'GET /admin/v1/usage-exports'>['data'][number]

const example = `usage:
  exports:
    accounting:
      directory: /var/lib/headgate/usage
      format: csv
      every: day`

const columns: ReadonlyArray<Column<UsageExport>> = [
  {
    title: 'Target',
    flexible: true,
    cell: ({ target, from_ms: fromMs, until_ms: untilMs }) => (
      <>
        <Clip>{target}</Clip>
        <Clip kind='sub'>{range(fromMs, untilMs)}</Clip>
      </>
    )
  },
  {
    title: 'File',
    flexible: true,
    cell: ({ file, rows, bytes, revision }) =>
      file === null ? (
        <span class='faint'>not written yet</span>
      ) : (
        <>
          <Clip kind='mono'>{file}</Clip>
          <Clip kind='sub'>
            {`${count(rows)} records, ${size(bytes)}${revision > 1 ? `, written ${revision} times` : ''}`}
          </Clip>
        </>
      )
  },
  { title: 'Written', cell: ({ written_at_ms: atMs }) => <Moment at={atMs} /> },
  { title: 'State', flexible: true, cell: each => <State each={each} /> }
]

export function ExportsPage (): JSX.Element {
  const { rows, more, error, loading, reload } = usePages('exports', (cursor, signal) =>
    api('GET /admin/v1/usage-exports', { query: { cursor }, ...signal !== undefined && { signal } })
  )
  const { run, busy, error: failure } = useAction()
  const hasTargets = error?.code !== 'not_found'
  const tryAgain = ({ target }: UsageExport): void => {
    void run(async () => {
      await api('POST /admin/v1/usage-exports/run', { body: { target } })
      toast(`The files of ${target} are being written`)
      await reload()
    })
  }
  const actions: Column<UsageExport> = {
    title: 'Actions',
    actions: true,
    cell: each => {
      const label = `Try again to write the files of ${each.target}`
      return each.error !== null && (
        <Button small busy={busy} label={label} onClick={() => tryAgain(each)}>
          Try again
        </Button>
      )
    }
  }
  return (
    <Page title='Exports' subtitle='Files of usage records for folders and buckets, one for each hour or day.'>
      {hasTargets ? (
        <>
          <Failure error={failure ?? error} retry={() => void reload()} />
          {error === undefined && (
            <section class='card'>
              <Table
                label='Exports'
                columns={[...columns, actions]}
                rows={rows}
                id={({ target, from_ms: fromMs }) => `${target} ${fromMs}`}
                stale={loading && rows !== undefined}
                empty={<Empty icon='download' title='No files yet' />}
              />
              <More onClick={more} />
            </section>
          )}
        </>
      ) : (
        <section class='card'>
          <Empty icon='download' title='No targets yet'>
            Name a folder or a bucket in the configuration.
          </Empty>
          <div class='body narrow'>
            <Code text={example} label='configuration' />
          </div>
        </section>
      )}
    </Page>
  )
}

function State ({ each }: { readonly each: UsageExport }): JSX.Element {
  const { state, error, attempts, next_at_ms: nextMs } = each
  const next = nextMs === null ? '' : `next ${dateTime(nextMs)}`
  if (error !== null) {
    return (
      <>
        <Badge tone='bad'>failed</Badge>
        <Clip kind='sub'>{`${plural(attempts, 'attempt')}: ${error}`}</Clip>
        <Clip kind='sub'>{next}</Clip>
      </>
    )
  }
  return (
    <>
      <Badge tone={state === 'written' ? 'good' : 'neutral'}>{state}</Badge>
      {next !== '' && <Clip kind='sub'>{next}</Clip>}
    </>
  )
}
