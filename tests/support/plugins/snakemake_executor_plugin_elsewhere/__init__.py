"""An executor of Snakemake without a shared file system: each job is a process in an empty folder of its own.

It asks of Snakemake what the executors for Kubernetes and Google Batch ask: sources come as an archive from
the storage, inputs and outputs go through it, and nothing else that a job leaves is seen by another one.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.settings import CommonSettings

common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=True,
    job_deploy_sources=True,
    auto_deploy_default_storage_provider=False,  # it is installed
)


class Executor(RemoteExecutor):
    """Runs each job in a new folder below $ELSEWHERE."""

    def run_job(self, job):
        folder = Path(tempfile.mkdtemp(prefix=f"{job.name}-", dir=os.environ["ELSEWHERE"]))
        python = {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))}
        command = ("setpriv", "--pdeathsig", "KILL", "/bin/sh", "-c", self.format_job_exec(job))
        with folder.with_suffix(".log").open("w") as log:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=os.environ | python,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        folder.with_suffix(".pid").write_text(str(process.pid))
        job_info = SubmittedJobInfo(job, external_jobid=folder.name, aux={"process": process})
        self.report_job_submission(job_info)

    async def check_active_jobs(self, active_jobs):
        for one in active_jobs:
            code = one.aux["process"].poll()
            if code is None:
                yield one
            elif code:
                self.report_job_error(one)
            else:
                self.report_job_success(one)

    def cancel_jobs(self, active_jobs):
        for one in active_jobs:
            one.aux["process"].kill()
