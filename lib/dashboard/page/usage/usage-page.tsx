/** The overview: calls, their cost and their speed. */

import type { JSX } from 'preact'
import { addressOf, api, request } from '../api/client.ts'
import { saveFile } from '../api/save-file.ts'
import { dateTime, range } from '../format/time.ts'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Failure, Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Segments } from '../parts/segments.tsx'
import { PlainSelect } from '../parts/select.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { useAction } from '../state/action.ts'
import { projectChoices } from '../state/names.ts'
import { choosePeriod, currentPeriod, periodChoices } from '../state/period.ts'
import { useResource } from '../state/resource.ts'
import { at, query, setQuery } from '../state/router.ts'
import { may } from '../state/session.ts'
import { AttributionFilters, narrowings } from './attribution-filters.tsx'
import { Breakdown, groupings } from './breakdown.tsx'
import { MeasureCard } from './measure-card.tsx'
import { measures, type Usage } from './measures.ts'
import { firstCalls } from './first-calls.ts'
import { Totals } from './totals.tsx'

export function UsagePage (): JSX.Element {
  const period = currentPeriod()
  const project = query.value.get('project') ?? ''
  const group = groupings.find(({ value }) => value === query.value.get('group'))?.value ?? 'model'
  const split = query.value.get('split') === 'group'
  const filters = narrowings()
  const parameters = {
    from_ms: period.fromMs,
    until_ms: period.untilMs,
    compare: true,
    group_by: group,
    ...filters
  }
  const { data, error, loading, reload } = useResource(query.value.toString(), async signal => {
    const usage = await api('GET /admin/v1/usage', { query: parameters, signal })
    const beganMs = period.name === 'custom' ? undefined : firstCalls(usage)
    return beganMs === undefined
      ? usage
      : await api('GET /admin/v1/usage', { query: { ...parameters, from_ms: beganMs }, signal })
  })
  const csv = useAction()
  const download = async (event: Event): Promise<void> => {
    event.preventDefault()
    saveFile(
      'usage.csv',
      await (await request('GET /admin/v1/usage.csv', 'text/csv', { query: parameters })).blob()
    )
  }
  const custom =
    period.name === 'custom' ? [{ value: 'custom', label: range(period.fromMs, period.untilMs) }] : []
  return (
    <Page
      title='Overview'
      wide
      actions={
        <>
          {projectChoices().length > 1 && (
            <PlainSelect
              name='Project'
              value={project}
              choices={[{ value: '', label: 'All projects' }, ...projectChoices()]}
              onChange={value => setQuery({ project: value })}
            />
          )}
          <Segments
            label='Period'
            value={period.name}
            choices={[...periodChoices, ...custom]}
            onChange={choosePeriod}
          />
          <Button
            icon='download'
            href={addressOf('/admin/v1/usage.csv', {}, parameters)}
            onClick={event => void csv.run(async () => await download(event))}
            label='Download as CSV'
          >
            CSV
          </Button>
        </>
      }
    >
      <AttributionFilters />
      <Failure error={csv.error} />
      <Failure error={error} retry={() => void reload()} />
      {data === undefined && error !== undefined ? null : data?.totals.calls === 0 &&
        (data.previous?.totals.calls ?? 0) === 0 ? (
        <NothingYet />
      ) : (
        <div class={`stack${loading && data !== undefined ? ' stale' : ''}`}>
          <LeftOut usage={data} />
          {data === undefined ? (
            <div class='card stats'>
              <div class='stat'>
                <SkeletonLines lines={3} />
              </div>
            </div>
          ) : (
            <Totals usage={data} />
          )}
          <div class='row end'>
            <Segments
              label='Charts show'
              value={split ? 'group' : 'all'}
              onChange={value => setQuery({ split: value === 'group' ? value : undefined })}
              choices={[
                { value: 'all', label: 'Compared with before' },
                { value: 'group', label: `By ${labelOf(group)}` }
              ]}
            />
          </div>
          <div class='grid two'>
            {measures.map(measure => (
              <MeasureCard key={measure.title} measure={measure} usage={data} byGroup={split} />
            ))}
          </div>
          <Breakdown
            usage={data}
            group={group}
            filters={filters}
            onGroup={value => setQuery({ group: value === 'model' ? undefined : value })}
          />
        </div>
      )}
    </Page>
  )
}

/** States since when there are sums; nothing if they are complete. */
function LeftOut ({ usage }: { readonly usage: Usage | undefined }): JSX.Element | null {
  if (usage === undefined || usage.cut_before_ms === null) return null
  return (
    <Notice tone='warn'>
      Calls before {dateTime(usage.cut_before_ms)} are left out: this reads the records of at most 31 days
      and of 2 million calls. Days grouped by end user, session or tag, and narrowed by nothing but the
      project, have no such bound.
    </Notice>
  )
}

function labelOf (group: string): string {
  return groupings.find(({ value }) => value === group)?.label.toLowerCase() ?? group
}

function NothingYet (): JSX.Element {
  return (
    <section class='card'>
      <Empty
        icon='overview'
        title='No calls in this period'
        actions={
          may('member') && (
            <>
              <Button kind='primary' icon='plus' href={at('/keys?new')}>
                Create key
              </Button>
              <Button icon='play' href={at('/playground')}>
                Open the playground
              </Button>
            </>
          )
        }
      >
        Create a key, point a program at the gateway, and what it calls, uses and costs appears here.
      </Empty>
    </section>
  )
}
