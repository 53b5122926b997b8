# Ortam on the CPU, for any machine and for a Docker Space:
#   docker build -t ortam .
#   docker run -p 7860:7860 -v ortam:/data ortam
# Runs are kept in $ORTAM_RUNS, else in /data/runs; where there is no such place they end with the container.
# Who can open the page can start runs: put a login in front of it, or add --read-only.

FROM python:3.11-slim

RUN useradd --create-home --uid 1000 user && mkdir /data && chown user /data
USER user
WORKDIR /home/user/app
ENV HOME=/home/user PATH=/home/user/.local/bin:$PATH PYTHONUNBUFFERED=1

# PyTorch's index of CPU builds offers 2.13.0+cpu, which pip prefers to 2.13.0: no CUDA libraries are fetched.
COPY --chown=user requirements.txt ./
RUN pip install --user --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu -r requirements.txt

COPY --chown=user . ./

EXPOSE 7860
CMD runs="${ORTAM_RUNS:-/data/runs}"; \
    if ! { [ -d "$runs" ] || cp -r runs "$runs"; } || ! [ -w "$runs" ]; then \
        echo "$runs can't be written: runs go to $HOME/app/runs and end with this container"; runs="$HOME/app/runs"; \
    fi; \
    exec python app.py --host 0.0.0.0 --port 7860 --runs "$runs"
