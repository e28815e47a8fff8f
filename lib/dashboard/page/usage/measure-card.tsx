/** One measure over the period: its chart and the names of its colours. */

import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { Card } from '../parts/card.tsx'
import { Chart } from '../parts/chart.tsx'
import { Legend } from '../parts/legend.tsx'
import { SkeletonBlock } from '../parts/skeleton.tsx'
import { seriesOf, type Measure, type Usage } from './measures.ts'
import { chooseRange } from '../state/period.ts'

export function MeasureCard ({
  measure,
  usage,
  byGroup
}: {
  readonly measure: Measure
  readonly usage: Usage | undefined
  readonly byGroup: boolean
}): JSX.Element {
  const series = useMemo(
    () => (usage === undefined ? [] : seriesOf(measure, usage, byGroup)),
    [measure, usage, byGroup]
  )
  const note = byGroup && measure.kind === 'lines' ? ', p95' : ''
  return (
    <Card title={measure.title + note}>
      <div class='stack tight'>
        {usage === undefined ? (
          <SkeletonBlock />
        ) : (
          <Chart
            label={measure.title}
            atMs={usage.at_ms}
            bucket={usage.bucket}
            series={series}
            kind={measure.kind}
            format={measure.format}
            {...(measure.axisFormat !== undefined && { axisFormat: measure.axisFormat })}
            onZoom={chooseRange}
          />
        )}
        <Legend series={series} />
      </div>
    </Card>
  )
}
