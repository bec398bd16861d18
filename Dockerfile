# What computes, without data and results: docker build --tag fedpriv .
# The file that `container:` in the Snakefile names: apptainer build fedpriv.sif docker-daemon:fedpriv:latest
# or, without Docker, apptainer build fedpriv.sif apptainer.def
FROM python:3.11
COPY pyproject.toml README.md LICENSE constraints.txt /opt/fedpriv/
COPY src /opt/fedpriv/src
COPY packages /opt/fedpriv/packages
RUN pip install --no-cache-dir --constraint /opt/fedpriv/constraints.txt "/opt/fedpriv[all]" \
    /opt/fedpriv/packages/fedpriv-engines /opt/fedpriv/packages/fedpriv-studies
ENTRYPOINT ["fedpriv"]
