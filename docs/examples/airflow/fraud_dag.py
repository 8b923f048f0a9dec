"""Fraud alarms every hour: neelc as a task of Airflow 3, on Spark or without it."""

from __future__ import annotations

from datetime import datetime

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import dag, task


@dag(schedule="@hourly", start_date=datetime(2026, 1, 1), catchup=False)
def fraud() -> None:
    # The job is docs/examples/fraud/job.py: it reads events, and writes alarms.
    on_spark = SparkSubmitOperator(
        task_id="alarms_on_spark",
        application="/opt/jobs/fraud/job.py",
        application_args=["/data/bank/{{ ds }}", "/data/alarms/{{ ds }}"],
        conn_id="spark_default",
    )

    @task
    def checked(day: str) -> int:
        """Counts the alarms, without Spark. An error of neelc fails the task, with its text in the log."""
        import neelc

        alarms = neelc.local().sql(
            "PATTERN Alarms a RETURN a.d_account",
            Alarms=neelc.stream(f"/data/alarms/{day}/", timestamp="alarm"),
        )
        return alarms.count()

    on_spark >> checked("{{ ds }}")


fraud()
